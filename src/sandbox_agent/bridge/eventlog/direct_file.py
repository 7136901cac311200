"""Writes large events around the kernel's memory, straight to the disk.

What is spilled is rarely read again. Through the page cache every megabyte of it takes a megabyte of memory
from whoever shares the sandbox, and finding that memory costs more than handling the message. Small events
stay with the page cache, which puts them together, and so does everything where the file system does not
play along.

The disk takes whole blocks only, so what is written directly begins and ends with one. Between two writes
there may be a hole, which nobody reads.
"""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from mmap import mmap

BLOCK_BYTES = 4096
# What the log sends to the disk at one go fits in: fewer and longer writes wait less for each other.
_DESK_BYTES = 1024 * 1024


def whole_blocks(size: int) -> int:
    """The size up to the end of its last block."""
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


class DirectFile:
    """An existing file, for writing. Raises OSError where the file system cannot do it."""

    def __init__(self, path: str) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def write(self, pieces: Sequence[bytes], offset: int) -> None:
        """Write the pieces, and whatever fills their last block, at an offset that begins a block."""
        with _desk.lock:
            desk = _desk.cleared()
            left = _DESK_BYTES
            for piece in pieces:
                rest: bytes | memoryview = piece
                while len(rest) > left:
                    rest = memoryview(rest)
                    desk.write(rest[:left])
                    rest = rest[left:]
                    offset = self._flush(desk, _DESK_BYTES, offset)
                    left = _DESK_BYTES
                desk.write(rest)
                left -= len(rest)
            self._flush(desk, whole_blocks(_DESK_BYTES - left), offset)

    def _flush(self, desk: mmap, size: int, offset: int) -> int:
        """Write so much of what lies on the desk, which is clear then; returns where the next block goes."""
        data = memoryview(desk)[:size]
        while data:
            written = os.pwrite(self._fd, data, offset)
            if written % BLOCK_BYTES:
                raise OSError(errno.ENOSPC, "the disk took a part of a block")
            data = data[written:]
            offset += written
        desk.seek(0)
        return offset


class _Desk:
    """Where blocks are put together: memory that begins with a page, one for all files, made when needed."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._room: mmap | None = None

    def cleared(self) -> mmap:
        if self._room is None:
            from mmap import mmap  # most servers never come here

            self._room = mmap(-1, _DESK_BYTES)
        self._room.seek(0)
        return self._room


_desk = _Desk()
