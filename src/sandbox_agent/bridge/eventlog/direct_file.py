"""Writes long events to disk without the page cache (O_DIRECT).

Long events on disk are rarely read again. Through the page cache each takes its size in memory from the
sandbox, and a message of 1 MB takes 20 % more CPU time (docs/performance.md).

The kernel writes whole blocks only, so the caller writes the end of the last block through the page cache.
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
_BUFFER_BYTES = 1024 * 1024


class DirectFile:
    """An existing file, opened for direct writes. Raises OSError if the file system has none."""

    __slots__ = ("_fd",)

    def __init__(self, path: str) -> None:
        self._fd = -1
        self._fd = os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

    def write(self, pieces: Sequence[bytes], offset: int) -> bytes:
        """Write the blocks that the pieces fill, from the beginning of a block on; returns what is left.

        Raises OSError.
        """
        with _aligned.lock:
            buffer = _aligned.buffer()
            used = 0
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    part = rest[: _BUFFER_BYTES - used]
                    buffer[used : used + len(part)] = part
                    used += len(part)
                    rest = rest[len(part) :]
                    if used == _BUFFER_BYTES:
                        self._write_blocks(buffer, offset)
                        offset, used = offset + used, 0
            filled = used - used % BLOCK_BYTES
            self._write_blocks(buffer[:filled], offset)
            return bytes(buffer[filled:used])

    def _write_blocks(self, data: memoryview, offset: int) -> None:
        while data:
            written = os.pwrite(self._fd, data, offset)
            if written % BLOCK_BYTES:
                raise OSError(errno.ENOSPC, "the disk took a part of a block")
            data = data[written:]
            offset += written


class _AlignedBuffer:
    """Memory that begins with a page, as direct writes need it; one for all files, made on first use."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._memory: mmap | None = None

    def buffer(self) -> memoryview:
        if self._memory is None:
            from mmap import mmap  # most servers write no long events

            self._memory = mmap(-1, _BUFFER_BYTES)
        return memoryview(self._memory)


_aligned = _AlignedBuffer()
