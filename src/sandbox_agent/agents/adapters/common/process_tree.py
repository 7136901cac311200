"""All descendants of a process, also those in sessions of their own, as shell tools are.

A process is identified by its pid and start time, so that a pid that was reused is never killed.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

ProcessId = tuple[int, str]
_PARENT, _START = 1, 19  # fields of /proc/PID/stat behind the name


def descendants(pid: int) -> set[ProcessId]:
    """The living children of `pid`, their children and so on."""
    children: dict[int, list[ProcessId]] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit() and (stat := _stat(int(entry))):
            children.setdefault(int(stat[_PARENT]), []).append((int(entry), stat[_START]))
    found: set[ProcessId] = set()
    waiting = [pid]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.add(child)
            waiting.append(child[0])
    return found


def kill(processes: set[ProcessId]) -> None:
    for pid, start in processes:
        if (stat := _stat(pid)) and stat[_START] == start:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _stat(pid: int) -> list[str] | None:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return None
