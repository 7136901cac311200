"""Events that fell out of memory, on disk: segments of frames, as they will be sent.

Every method that waits for a file is meant for a worker thread and holds the lock while it does. When the
space is used up (the limit, or a full disk) the oldest segment goes, so the newest events always survive.
What is left is one unbroken range `oldest .. end-1`; if a write fails for good the range becomes empty.
"""

from __future__ import annotations

import errno
import os
import threading
from bisect import bisect_right
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import frames
from sandbox_agent.bridge.eventlog.direct_file import BLOCK_BYTES, DirectFile, whole_blocks
from sandbox_agent.bridge.eventlog.file_range import FileRange, SegmentFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.bridge.eventlog.frames import Block

_SEGMENTS_PER_LIMIT = 8
# One remembered offset per so many bytes: finding an event reads at most this much too much.
_INDEX_STEP_BYTES = 64 * 1024
# The kernel takes 1024 buffers at a time.
_PIECES_PER_WRITE = 1024
# With less room than this the holes that direct writes leave would count.
_DIRECT_FROM_BYTES = 16 * 1024 * 1024


class _Segment:
    __slots__ = (
        "_direct",
        "_direct_refused",
        "_hole_starts",
        "_holes",
        "file",
        "first",
        "index_numbers",
        "index_offsets",
        "last",
        "size",
    )

    def __init__(self, file: SegmentFile, first: int) -> None:
        self.file = file
        self.first = first
        self.last = 0
        self.size = 0
        self.index_numbers: list[int] = []
        self.index_offsets: list[int] = []
        self._direct: DirectFile | None = None
        self._direct_refused = False
        self._hole_starts: list[int] = []
        self._holes: list[tuple[int, int]] = []
        """Of each hole its end, and the last event before it."""

    def append(self, blocks: Sequence[Block], last: int, *, directly: bool) -> None:
        """Write the blocks after what is here. Raises OSError; half of them may be in the file then."""
        pieces = frames.pieces_of(blocks)
        if directly and self._write_directly(pieces):
            self._leave_hole(whole_blocks(self.size))
        else:
            _write(self.file.fd, pieces, self.size)
        for block in blocks:
            if not self.index_offsets or self.size - self.index_offsets[-1] >= _INDEX_STEP_BYTES:
                self.index_numbers.append(frames.first_number(block))
                self.index_offsets.append(self.size)
            self.size += frames.size_of(block)
        self.last = last

    def _write_directly(self, pieces: Sequence[bytes]) -> bool:
        """False if that is not possible here."""
        if self._direct_refused:
            return False
        try:
            if self._direct is None:
                self._direct = DirectFile(self.file.path)
            self._direct.write(pieces, whole_blocks(self.size))
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
            self._direct, self._direct_refused = None, True
        return not self._direct_refused

    def _leave_hole(self, end: int) -> None:
        """What is between the last event and `end` belongs to nobody."""
        if end > self.size:
            self._hole_starts.append(self.size)
            self._holes.append((end, self.last))
            self.size = end

    def after_hole(self, offset: int) -> int:
        """Where the event begins that follows what ends at the offset."""
        at = bisect_right(self._hole_starts, offset) - 1
        return self._holes[at][0] if at >= 0 and self._hole_starts[at] == offset else offset

    def end_writing(self) -> None:
        """The next events go elsewhere."""
        self._direct = None

    def range_from(self, number: int, offset: int, max_bytes: int) -> FileRange:
        """What begins with event `number` at `offset`, up to a place that the index knows."""
        end, last = self.size, self.last
        at = bisect_right(self.index_offsets, offset + max_bytes) - 1
        if self.index_offsets[at] <= offset:
            at += 1  # One block, longer than what was wished for.
        if self.size > offset + max_bytes and at < len(self.index_offsets):
            end, last = self.index_offsets[at], self.index_numbers[at] - 1
        hole = bisect_right(self._hole_starts, offset)
        if hole < len(self._holes) and self._hole_starts[hole] < end:
            end, last = self._hole_starts[hole], self._holes[hole][1]
        return FileRange(number, last, self.file, offset, end - offset)

    def find(self, number: int) -> int:
        """The offset of an event that is here. Raises OSError or ValueError if the file is not as written."""
        at = bisect_right(self.index_numbers, number) - 1
        offset = self.index_offsets[at]
        if self.index_numbers[at] == number:
            return offset
        end = self.index_offsets[at + 1] if at + 1 < len(self.index_offsets) else self.size
        return offset + frames.offset_of(os.pread(self.file.fd, end - offset, offset), number)


class Spill:
    __slots__ = ("_closed", "_directory", "_lock", "_made", "_max", "_name", "_segments", "_size")

    def __init__(self, directory: str, name: str, max_bytes: int) -> None:
        self._directory = directory
        self._name = name
        self._max = max_bytes
        self._segments: list[_Segment] = []
        self._made = 0
        self._size = 0
        self._closed = False
        self._lock = threading.Lock()

    @property
    def oldest(self) -> int | None:
        """Number of the oldest event on disk; None when there is none."""
        try:
            return self._segments[0].first
        except IndexError:
            return None

    def append(self, blocks: Sequence[Block], last: int) -> bool:
        """Write events that follow those already here; False if they could not be kept."""
        with self._lock:
            if self._closed:
                return False
            blocks, needed = self._newest_that_fit(blocks)
            directly = self._max >= _DIRECT_FROM_BYTES and all(map(frames.is_long, blocks))
            if directly:
                needed += BLOCK_BYTES
            while self._segments and self._size + needed > self._max:
                self._drop_oldest()
            if not blocks:
                return False
            while not self._try_append(blocks, last, directly):
                if not self._segments:
                    return False
                self._drop_oldest()
            return True

    def _newest_that_fit(self, blocks: Sequence[Block]) -> tuple[Sequence[Block], int]:
        """All blocks as a rule; of more than the disk may hold, the newest part, and its size."""
        needed = sum(map(frames.size_of, blocks))
        start = 0
        while needed > self._max:
            size = frames.size_of(blocks[start])
            rest = frames.from_byte(blocks[start], needed - self._max)
            needed -= size - frames.size_of(rest)
            if rest:
                return [rest, *blocks[start + 1 :]], needed
            start += 1
        return blocks[start:], needed

    def _try_append(self, blocks: Sequence[Block], last: int, directly: bool) -> bool:
        segment = None
        try:
            segment = self._segment_for(frames.first_number(blocks[0]))
            before = segment.size
            segment.append(blocks, last, directly=directly)
        except OSError:
            if segment is not None:
                # Nothing of a half-written batch may remain; the file shrinks, which needs no space.
                os.ftruncate(segment.file.fd, segment.size)
                if not segment.size and segment is self._segments[-1]:
                    self._segments.pop().file.remove()
            return False
        self._size += segment.size - before
        return True

    def _segment_for(self, first: int) -> _Segment:
        if self._segments and self._segments[-1].size < self._max // _SEGMENTS_PER_LIMIT:
            return self._segments[-1]
        if self._segments:
            self._segments[-1].end_writing()
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = os.path.join(self._directory, f"{self._name}-{self._made}")
        segment = _Segment(SegmentFile(path), first)
        self._made += 1
        self._segments.append(segment)
        return segment

    def _segment_with(self, number: int) -> _Segment | None:
        return next((s for s in self._segments if s.first <= number <= s.last), None)

    def find(self, number: int, max_bytes: int, before: FileRange | None) -> FileRange | None:
        """The range that begins with event `number`, about `max_bytes` long; None if it is not here any more.

        `before` is the range that the caller had last: what follows it needs no search.
        """
        with self._lock:
            segment = self._segment_with(number)
            if segment is None:
                return None
            try:
                if before is not None and before.file is segment.file and before.last + 1 == number:
                    offset = segment.after_hole(before.end)
                else:
                    offset = segment.find(number)
                found = segment.range_from(number, offset, max_bytes)
                found.warm()
            except (OSError, ValueError):
                # A disk that cannot be read keeps nothing: readers are told of a gap instead of waiting.
                self._drop_all()
                return None
            return found

    def find_in_cache(self, number: int, max_bytes: int, before: FileRange) -> FileRange | None:
        """What follows `before`, if that can be said and sent without waiting for anything, else None.

        The only method for the event loop: most replays find what was written lately in the kernel's memory.
        """
        if not self._lock.acquire(blocking=False):
            return None
        try:
            segment = self._segment_with(number)
            if segment is None or before.file is not segment.file or before.last + 1 != number:
                return None
            found = segment.range_from(number, segment.after_hole(before.end), max_bytes)
            return found if found.is_in_cache() else None
        finally:
            self._lock.release()

    def _drop_oldest(self) -> None:
        segment = self._segments.pop(0)
        self._size -= segment.size
        segment.file.remove()

    def _drop_all(self) -> None:
        while self._segments:
            self._drop_oldest()

    def close(self) -> None:
        """Remove everything; later appends are refused."""
        with self._lock:
            self._closed = True
            self._drop_all()


def _write(fd: int, pieces: Sequence[bytes], offset: int) -> None:
    """All pieces, without putting them together in memory first."""
    for start in range(0, len(pieces), _PIECES_PER_WRITE):
        some = pieces[start : start + _PIECES_PER_WRITE]
        size = sum(map(len, some))
        written = os.pwritev(fd, some, offset)
        if written < size:
            # A long write may stop half-way; what is left goes the slow way.
            _write_all(fd, b"".join(some)[written:], offset + written)
        offset += size


def _write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written
