"""Number of processes, resident memory and CPU time of tagged process trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree.process_table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class TreeUsage:
    """The sums over the processes of a tree; CPU time includes children that were waited for."""

    __slots__ = ("cpu_s", "memory_bytes", "processes")

    def __init__(self, pids: Iterable[int]) -> None:
        self.processes = 0
        self.memory_bytes = 0
        self.cpu_s = 0.0
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat", "rb") as stat:
                    fields = stat.read().rpartition(b")")[2].split()
            except OSError:
                continue  # It has exited.
            self.processes += 1
            self.memory_bytes += int(fields[21]) * _PAGE_BYTES
            self.cpu_s += sum(map(int, fields[11:15])) / _TICKS_PER_S


def tree_usages(of: Iterable[int]) -> dict[int, TreeUsage]:
    """The usage per tag. Reads all of /proc, which takes milliseconds: call it in a thread."""
    snapshot = Snapshot()
    return {tag: TreeUsage(snapshot.with_descendants(snapshot.tagged(tag.__eq__))) for tag in of}
