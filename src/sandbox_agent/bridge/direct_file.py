"""Writes large events around the kernel's memory, straight to the disk.

What is spilled is rarely read again. Through the page cache every megabyte of it takes a megabyte of memory
from whoever shares the sandbox, and finding that memory costs more than handling the message. Small events
stay with the page cache, which puts them together, and so does everything where the file system does not
play along.

The disk takes whole blocks only. The rest of the last one is filled with a comment, which readers of an event
stream skip as they skip a heartbeat.
"""

from __future__ import annotations

import errno
import os
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCK_BYTES = 4096
# What the log sends to the disk at one go fits in: fewer and longer writes wait less for each other.
_BUFFER_BYTES = 8 * 1024 * 1024
_SHORTEST_COMMENT = len(b":\n\n")


def padding(size: int) -> bytes:
    """A comment that fills up the block in which `size` bytes end; empty if there is nothing to fill."""
    missing = -size % BLOCK_BYTES
    if not missing:
        return b""
    if missing < _SHORTEST_COMMENT:
        missing += BLOCK_BYTES
    return b":" + b" " * (missing - _SHORTEST_COMMENT) + b"\n\n"


class DirectFile:
    """An existing file, for writing. Raises OSError where the file system cannot do it."""

    def __init__(self, path: str) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def write(self, pieces: Sequence[bytes], offset: int) -> int:
        """Write the pieces at an offset that begins a block; returns where they end, padding included."""
        with _desk.lock:
            room = _desk.room()
            filled = 0
            for piece in (*pieces, padding(sum(map(len, pieces)))):
                rest = memoryview(piece)
                while rest:
                    some = rest[: _BUFFER_BYTES - filled]
                    room[filled : filled + len(some)] = some
                    filled += len(some)
                    rest = rest[len(some) :]
                    if filled == _BUFFER_BYTES:
                        offset = self._flush(room, offset)
                        filled = 0
            return self._flush(room[:filled], offset)

    def _flush(self, data: memoryview, offset: int) -> int:
        while data:
            written = os.pwrite(self._fd, data, offset)
            if written % BLOCK_BYTES:
                raise OSError(errno.ENOSPC, "the disk took a part of a block")
            data = data[written:]
            offset += written
        return offset


class _Desk:
    """Where blocks are put together: memory that begins with a page, one for all files, made when needed."""

    def __init__(self) -> None:
        self.lock = allocate_lock()
        self._room: memoryview | None = None

    def room(self) -> memoryview:
        if self._room is None:
            import mmap  # most servers never come here

            self._room = memoryview(mmap.mmap(-1, _BUFFER_BYTES))
        return self._room


_desk = _Desk()
