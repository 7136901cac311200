"""Events on disk that are ready to be sent: a range of a file, handed on without being read.

The file stays open as long as somebody holds a range of it, also when it has been removed meanwhile: a reader
that has begun a range can finish it.
"""

from __future__ import annotations

import os

_WARMING_BYTES = 256 * 1024
# The kernel forgets what was written together together, and not in smaller pieces than this as a rule.
_LOOK_EVERY_BYTES = 32 * 1024


class SegmentFile:
    __slots__ = ("fd", "path")

    def __init__(self, path: str) -> None:
        """Create the file, readable by its owner only. Raises OSError."""
        self.path = path
        self.fd = -1
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def __del__(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)

    def remove(self) -> None:
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass


class FileRange:
    """Some events in a row, in a file."""

    __slots__ = ("file", "first", "last", "offset", "size")

    def __init__(self, first: int, last: int, file: SegmentFile, offset: int, size: int) -> None:
        self.first = first
        self.last = last
        self.file = file
        self.offset = offset
        self.size = size

    @property
    def end(self) -> int:
        return self.offset + self.size

    def without(self, sent: int) -> FileRange:
        """What is left of it when so many bytes have been sent."""
        return FileRange(self.first, self.last, self.file, self.offset + sent, self.size - sent)

    def read(self) -> bytes:
        """The frames themselves. Raises OSError."""
        data = os.pread(self.file.fd, self.size, self.offset)
        if len(data) < self.size:
            raise OSError("the spill file is shorter than it was written")
        return data

    def warm(self) -> None:
        """See to it that sending does not wait for the disk. Raises OSError when it cannot be read."""
        place = bytearray(min(self.size, _WARMING_BYTES))
        for offset in range(self.offset, self.end, len(place)):
            if not os.preadv(self.file.fd, [place], offset):
                raise OSError("the spill file is shorter than it was written")

    def is_in_cache(self) -> bool:
        """Whether the kernel has it in memory, as far as a look here and there tells."""
        byte = [bytearray(1)]
        try:
            for offset in (*range(self.offset, self.end, _LOOK_EVERY_BYTES), self.end - 1):
                os.preadv(self.file.fd, byte, offset, os.RWF_NOWAIT)
        except OSError:
            return False
        return True
