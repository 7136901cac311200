"""A range of a segment file: events on disk that are sent without being read into the server's memory.

The file stays open as long as a range of it exists, also after its removal, so a subscriber that has begun a
range can finish it.
"""

from __future__ import annotations

import os

_READ_BYTES = 256 * 1024


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
    """Consecutive events in a file."""

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
        """The rest of the range after `sent` bytes."""
        return FileRange(self.first, self.last, self.file, self.offset + sent, self.size - sent)

    def read(self) -> bytes:
        """The bytes of the range. Raises OSError."""
        data = os.pread(self.file.fd, self.size, self.offset)
        if len(data) < self.size:
            raise OSError("the spill file is shorter than it was written")
        return data

    def warm(self) -> None:
        """Read the range once, so that sending does not wait for the disk. Raises OSError."""
        buffer = bytearray(min(self.size, _READ_BYTES))
        for offset in range(self.offset, self.end, len(buffer)):
            if not os.preadv(self.file.fd, [buffer], offset):
                raise OSError("the spill file is shorter than it was written")
