"""Resident memory of tagged process trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree.process_table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def tree_memory(of: Iterable[int]) -> dict[int, int]:
    """Bytes per tag: the sum over the processes of the tree. Takes milliseconds; call it in a thread."""
    snapshot = Snapshot()

    def tree(tag: int) -> Iterable[int]:
        return snapshot.with_descendants(snapshot.tagged(tag.__eq__))

    return {tag: sum(map(_resident, tree(tag))) for tag in of}


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0  # It has exited.
