"""Processes that the tests started and left running: living descendants of this process."""

from __future__ import annotations

import os
import time
from pathlib import Path

_GRACE_S = 5.0


def left_running() -> list[str]:
    """Descendants of this process that do not end within five seconds, each as pid and command line."""
    deadline = time.monotonic() + _GRACE_S
    while (left := _unexpected_descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"{pid} {_command(pid)}" for pid in left]


def _unexpected_descendants() -> list[int]:
    # Python's own helper for multiprocessing stays until this process ends.
    return [
        pid for pid in _descendants(os.getpid()) if "multiprocessing.resource_tracker" not in _command(pid)
    ]


def _descendants(parent: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{parent}/task").iterdir():
        try:
            children = [int(pid) for pid in (thread / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            if not _is_zombie(child):
                found += [child, *_descendants(child)]
    return found


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "(gone)"
