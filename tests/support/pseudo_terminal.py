"""Run a Python script on a terminal of a given width."""

from __future__ import annotations

import os
import sys

import pexpect


def output_on_terminal(script: str, *arguments: str, columns: int) -> str:
    """Everything that the script writes; it must succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    terminal = pexpect.spawn(
        sys.executable,
        ["-c", script, *arguments],
        env={**environment, "TERM": "xterm"},
        timeout=30,
        encoding="utf-8",
        dimensions=(24, columns),
    )
    shown = str(terminal.read())
    terminal.close()
    assert terminal.exitstatus == 0, shown
    return shown
