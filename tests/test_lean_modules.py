"""What a server needs up to its first answers loads none of the standard library's heavy parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sandbox_agent

LEAN = """
    settings errors cli.entry
    http.guard http.exchange http.problems http.heads http.routes http.status_line http.sse http.meta
    bridge.confinement bridge.launch_spec bridge.stored bridge.spill bridge.spill_directory bridge.guardian
    bridge.process_marks bridge.pending bridge.silence bridge.lines bridge.framing bridge.pipe_size
    bridge.envelope bridge.json_scan
    agents.catalog agents.builtin_tables agents.spec agents.layout agents.resolve agents.launch
"""
HEAVY = """
    asyncio collections contextlib dataclasses enum functools inspect json logging msgspec pathlib re signal
    socket subprocess threading tomllib typing
"""


def test_lean_modules_load_nothing_heavy() -> None:
    names = ", ".join(f"sandbox_agent.{name}" for name in LEAN.split())
    home = str(Path(sandbox_agent.__file__ or "").parent.parent)
    code = (
        f"import sys; sys.path.insert(0, {home!r}); import {names}\n"
        f"print([name for name in {HEAVY.split()} if name in sys.modules])"
    )
    # -S: packages of the machine may load whatever they like.
    command = [sys.executable, "-I", "-S", "-c", code]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout == "[]\n"
