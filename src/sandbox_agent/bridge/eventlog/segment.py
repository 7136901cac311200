"""A segment of the spill: one file of frames with an index from event numbers to offsets."""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.direct_file import BLOCK_BYTES, DirectFile
from sandbox_agent.bridge.eventlog.file_range import FileRange, SegmentFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.bridge.eventlog.sse_frames import Block

# One offset per 64 KiB is remembered, so finding an event reads at most that much too much.
_INDEX_STEP_BYTES = 64 * 1024
# The kernel takes 1024 buffers per call.
_PIECES_PER_WRITE = 1024


class Segment:
    __slots__ = (
        "_direct",
        "_index_numbers",
        "_index_offsets",
        "_refuses_direct",
        "file",
        "first",
        "last",
        "size",
    )

    def __init__(self, file: SegmentFile, first: int) -> None:
        self.file = file
        self.first = first
        self.last = 0
        self.size = 0
        self._index_numbers: list[int] = []
        self._index_offsets: list[int] = []
        self._direct: DirectFile | None = None
        self._refuses_direct = False

    def append(self, blocks: Sequence[Block], last: int) -> None:
        """Write the blocks at the end. Raises OSError; a part of them may be in the file then."""
        pieces = sse_frames.pieces_of(blocks)
        if not (all(map(sse_frames.is_long, blocks)) and self._write_directly(pieces)):
            _write(self.file.fd, pieces, self.size)
        for block in blocks:
            if not self._index_offsets or self.size - self._index_offsets[-1] >= _INDEX_STEP_BYTES:
                self._index_numbers.append(sse_frames.first_number(block))
                self._index_offsets.append(self.size)
            self.size += sse_frames.size_of(block)
        self.last = last

    def _write_directly(self, pieces: Sequence[bytes]) -> bool:
        """Write without the page cache; False if the file system cannot.

        The last block of the file is written again, with what fills it.
        """
        if self._refuses_direct:
            return False
        offset = self.size - self.size % BLOCK_BYTES
        try:
            self._direct = self._direct or DirectFile(self.file.path)
            in_block = os.pread(self.file.fd, self.size - offset, offset)
            if len(in_block) < self.size - offset:
                raise OSError(errno.EIO, "the spill file is shorter than it was written")
            rest = self._direct.write([in_block, *pieces], offset)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
            self.end_direct_writes()
            self._refuses_direct = True
            return False
        written = len(in_block) + sum(map(len, pieces)) - len(rest)
        _write_all(self.file.fd, rest, offset + written)
        return True

    def end_direct_writes(self) -> None:
        """Close the second descriptor: the next events go to another segment."""
        self._direct = None

    def range_from(self, number: int, offset: int, max_bytes: int) -> FileRange:
        """The range that begins with event `number` at `offset` and ends where the index has an entry."""
        end, last = self.size, self.last
        at = bisect_right(self._index_offsets, offset + max_bytes) - 1
        if self._index_offsets[at] <= offset:
            at += 1  # One block that is longer than `max_bytes`.
        if self.size > offset + max_bytes and at < len(self._index_offsets):
            end, last = self._index_offsets[at], self._index_numbers[at] - 1
        return FileRange(number, last, self.file, offset, end - offset)

    def find(self, number: int) -> int:
        """The offset of an event of this segment. Raises OSError or ValueError if the file was changed."""
        at = bisect_right(self._index_numbers, number) - 1
        offset = self._index_offsets[at]
        if self._index_numbers[at] == number:
            return offset
        end = self._index_offsets[at + 1] if at + 1 < len(self._index_offsets) else self.size
        return offset + sse_frames.offset_of(os.pread(self.file.fd, end - offset, offset), number)


def _write(fd: int, pieces: Sequence[bytes], offset: int) -> None:
    """Write all pieces without joining them in memory first."""
    for start in range(0, len(pieces), _PIECES_PER_WRITE):
        some = pieces[start : start + _PIECES_PER_WRITE]
        size = sum(map(len, some))
        written = os.pwritev(fd, some, offset)
        if written < size:
            # A long write may stop half-way; the rest is written with a copy.
            _write_all(fd, b"".join(some)[written:], offset + written)
        offset += size


def _write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written
