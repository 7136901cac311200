"""Events that fell out of memory, on disk: segments of raw lines, numbered by position.

Every method that touches a file is meant for a worker thread and holds the lock while it does. When the
space is used up (the limit, or a full disk) the oldest segment goes, so the newest events always survive.
What is left is one unbroken range `oldest .. end-1`; if a write fails for good the range becomes empty.
"""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress

import msgspec

from sandbox_agent.bridge.lines import split_lines

_SEGMENTS_PER_LIMIT = 8
# One remembered offset per so many bytes: finding an event reads at most this much too much.
_INDEX_STEP_BYTES = 64 * 1024
# The kernel takes 1024 buffers at a time, two for each line.
_LINES_PER_WRITE = 512


class _Segment(msgspec.Struct):
    path: str
    fd: int
    first: int
    count: int = 0
    size: int = 0
    index_numbers: list[int] = msgspec.field(default_factory=list)
    index_offsets: list[int] = msgspec.field(default_factory=list)

    def drop(self) -> None:
        os.close(self.fd)
        with suppress(FileNotFoundError):
            os.unlink(self.path)


class Spill:
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

    def append(self, first: int, lines: Sequence[bytes]) -> bool:
        """Write events that follow those already here; False if they could not be kept."""
        with self._lock:
            if self._closed:
                return False
            needed = sum(map(len, lines)) + len(lines)
            while self._segments and self._size + needed > self._max:
                self._drop_oldest()
            start = 0
            while needed > self._max:  # More than fits at all: the newest part of it stays.
                needed -= len(lines[start]) + 1
                start += 1
            first, lines = first + start, lines[start:]
            if not lines:
                return False
            while not self._try_append(first, lines, needed):
                if not self._segments:
                    return False
                self._drop_oldest()
            return True

    def _try_append(self, first: int, lines: Sequence[bytes], needed: int) -> bool:
        segment = None
        try:
            segment = self._segment_for(first)
            _write_lines(segment.fd, lines, segment.size)
        except OSError:
            if segment is not None:
                # Nothing of a half-written batch may remain; the file shrinks, which needs no space.
                os.ftruncate(segment.fd, segment.size)
                if segment.count == 0 and segment is self._segments[-1]:
                    self._segments.pop().drop()
            return False
        offset = segment.size
        for number, line in enumerate(lines, first):
            if not segment.index_offsets or offset - segment.index_offsets[-1] >= _INDEX_STEP_BYTES:
                segment.index_numbers.append(number)
                segment.index_offsets.append(offset)
            offset += len(line) + 1
        segment.size += needed
        segment.count += len(lines)
        self._size += needed
        return True

    def _segment_for(self, first: int) -> _Segment:
        if self._segments and self._segments[-1].size < self._max // _SEGMENTS_PER_LIMIT:
            return self._segments[-1]
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = os.path.join(self._directory, f"{self._name}-{self._made}")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._made += 1
        segment = _Segment(path, fd, first)
        self._segments.append(segment)
        return segment

    def read(self, number: int, max_bytes: int) -> list[bytes]:
        """Events from `number` on, about `max_bytes` of them; empty if `number` is not here any more."""
        with self._lock:
            segment = next(
                (s for s in self._segments if s.first <= number < s.first + s.count),
                None,
            )
            if segment is None:
                return []
            at = bisect_right(segment.index_numbers, number) - 1
            offset = segment.index_offsets[at]
            skip = number - segment.index_numbers[at]
            try:
                return _read_lines(segment, offset, skip, max_bytes)
            except OSError:
                # A disk that cannot be read keeps nothing: readers are told of a gap instead of waiting.
                self._drop_all()
                return []

    def _drop_oldest(self) -> None:
        segment = self._segments.pop(0)
        self._size -= segment.size
        segment.drop()

    def _drop_all(self) -> None:
        while self._segments:
            self._drop_oldest()

    def close(self) -> None:
        """Remove everything; later appends are refused."""
        with self._lock:
            self._closed = True
            self._drop_all()


def _read_lines(segment: _Segment, offset: int, skip: int, max_bytes: int) -> list[bytes]:
    while True:
        data = os.pread(segment.fd, min(max_bytes, segment.size - offset), offset)
        # What follows the last newline is a line whose end has not been read.
        lines = split_lines(data[: data.rfind(b"\n") + 1])
        if len(lines) > skip:
            return lines[skip:]
        if len(data) < max_bytes:
            raise OSError("the spill file is shorter than it was written")
        max_bytes *= 2


def _write_lines(fd: int, lines: Sequence[bytes], offset: int) -> None:
    """Each line and its newline, without putting them together in memory first."""
    for start in range(0, len(lines), _LINES_PER_WRITE):
        buffers: list[bytes] = []
        for line in lines[start : start + _LINES_PER_WRITE]:
            buffers += (line, b"\n")
        size = sum(map(len, buffers))
        written = os.pwritev(fd, buffers, offset)
        if written < size:
            # A long write may stop half-way; what is left goes the slow way.
            _write_all(fd, b"".join(buffers)[written:], offset + written)
        offset += size


def _write_all(fd: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view = view[written:]
        offset += written
