"""Resident memory of tagged process trees."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import tags

if TYPE_CHECKING:
    from collections.abc import Iterable

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def tree_memory(of: Iterable[int]) -> dict[int, int]:
    """Bytes per tag: the sum over the processes of the tree. Takes milliseconds; call it in a thread."""
    snapshot = tags.Snapshot()
    return {tag: sum(_resident(pid) for pid in snapshot.tree(tag.__eq__)) for tag in of}


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _PAGE_BYTES
    except (OSError, ValueError, IndexError):
        return 0  # It has exited.
