"""The journal: one JSON line per finished rollout, on disk before the next step.

A line that a crash has cut off is not read, and the next line begins on a line of its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox_agent.sdk import json_codec


class Journal:
    """Appends rows, one after the other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end_torn_line()

    def _end_torn_line(self) -> None:
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")

    def append(self, row: dict[str, Any]) -> None:
        """Return when the row is on disk."""
        view = memoryview(json_codec.encode(row) + b"\n")
        while view:
            view = view[os.write(self._descriptor, view) :]
        os.fsync(self._descriptor)

    def restart(self) -> None:
        """Forget all rows: they are elsewhere."""
        os.ftruncate(self._descriptor, 0)
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a journal, without a line that was cut off."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                row = json_codec.decode(line)
            except ValueError:
                continue
            if isinstance(row, dict) and "id" in row:
                yield row
