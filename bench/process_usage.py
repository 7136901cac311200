"""CPU time and memory of a server: its process and its helpers (the watchdog), without the agents.

A descendant that runs a program of the benchmark is an agent; every other one counts as part of the server.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from bench.programs import AGENT_PROGRAMS

_TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Memory:
    resident_kb: int
    proportional_kb: int


def server_processes(pid: int) -> list[int]:
    found, queue = [], [pid]
    while queue:
        one = queue.pop()
        try:
            if os.readlink(f"/proc/{one}/exe") in AGENT_PROGRAMS:
                continue
            tasks = list(Path(f"/proc/{one}/task").iterdir())
            queue += [int(child) for task in tasks for child in (task / "children").read_text().split()]
            found.append(one)
        except OSError:
            continue
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time so far, dead threads included."""
    total = 0
    for one in server_processes(pid):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total * _TICK


def fine_cpu_seconds(pid: int) -> float:
    """CPU time in nanosecond resolution, of living threads only: for idle servers."""
    total = 0
    for one in server_processes(pid):
        for task in Path(f"/proc/{one}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def memory(pid: int) -> Memory:
    resident = proportional = 0
    for one in server_processes(pid):
        for line in Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "Rss":
                resident += int(rest.split()[0])
            elif name == "Pss":
                proportional += int(rest.split()[0])
    return Memory(resident, proportional)
