"""The journal: one JSON line per finished rollout, on disk before the next step.

A line that a crash has cut off is not read, and the next line begins on a line of its own. Lines are synced
to disk in groups: all results that arrive during one `fsync` share the next.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandbox_agent.sdk import json_codec


class Journal:
    """Appends rows; made for one event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._end_torn_line()
        self._waiting: list[bytes] = []
        self._written: asyncio.Future[None] | None = None
        self._syncing = asyncio.Lock()

    def _end_torn_line(self) -> None:
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            os.write(self._descriptor, b"\n")

    async def append(self, row: dict[str, Any]) -> None:
        """Return when the row is on disk."""
        self._waiting.append(json_codec.encode(row) + b"\n")
        mine = self._written = self._written or asyncio.get_running_loop().create_future()
        async with self._syncing:
            if not mine.done():
                lines, self._waiting, self._written = self._waiting, [], None
                try:
                    await asyncio.shield(asyncio.to_thread(self._write, b"".join(lines)))
                except OSError as error:
                    mine.set_exception(error)
                else:
                    mine.set_result(None)
        await mine

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
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
