"""Events that no longer fit in memory, on disk: segments of frames, as they will be sent.

Every method that waits for a file runs in a worker thread and holds the lock meanwhile. When the space is
used up (the limit, or a full disk) the oldest segment is removed, so the newest events always survive. The
spill holds one unbroken range of events up to the last one written; if a write fails for good, it is empty.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.file_range import SegmentFile
from sandbox_agent.bridge.eventlog.segment import Segment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.sse_frames import Block

_SEGMENTS_PER_LIMIT = 8


class Spill:
    __slots__ = (
        "_closed",
        "_directory",
        "_lock",
        "_made",
        "_max",
        "_name",
        "_segment_bytes",
        "_segments",
        "_size",
    )

    def __init__(self, directory: str, name: str, max_bytes: int) -> None:
        self._directory = directory
        self._name = name
        self._max = max_bytes
        self._segment_bytes = max(1, max_bytes // _SEGMENTS_PER_LIMIT)
        self._segments: list[Segment] = []
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
        """Write events that follow the last one; False if they could not be kept."""
        with self._lock:
            if self._closed:
                return False
            kept = self._newest_that_fit(blocks)
            if not kept:
                self._drop_all()
                return False
            parts = list(sse_frames.in_parts(kept, self._segment_bytes))
            ends = [sse_frames.first_number(part[0]) - 1 for part in parts[1:]]
            return all(map(self._append_part, parts, [*ends, last]))

    def _append_part(self, blocks: Sequence[Block], last: int) -> bool:
        """Write what makes at most one segment, in place of the oldest segments if there is no room."""
        needed = sum(map(sse_frames.size_of, blocks))
        while self._segments and self._size + needed > self._max:
            self._drop_oldest()
        while not self._try_append(blocks, last):
            if not self._segments:
                return False
            self._drop_oldest()
        return True

    def _newest_that_fit(self, blocks: Sequence[Block]) -> Sequence[Block]:
        """The blocks, or the newest part of them that the limit allows."""
        needed = sum(map(sse_frames.size_of, blocks))
        start = 0
        while needed > self._max:
            size = sse_frames.size_of(blocks[start])
            rest = sse_frames.from_byte(blocks[start], needed - self._max)
            needed -= size - sse_frames.size_of(rest)
            if rest:
                return [rest, *blocks[start + 1 :]]
            start += 1
        return blocks[start:]

    def _try_append(self, blocks: Sequence[Block], last: int) -> bool:
        segment = None
        try:
            segment = self._segment_for(sse_frames.first_number(blocks[0]))
            before = segment.size
            segment.append(blocks, last)
        except (OSError, MemoryError, ImportError):  # A full disk, no memory, or none to load a module.
            if segment is not None:
                # Remove a partly written batch; truncating needs no space.
                os.ftruncate(segment.file.fd, segment.size)
                if not segment.size and segment is self._segments[-1]:
                    self._segments.pop().file.remove()
            return False
        self._size += segment.size - before
        return True

    def _segment_for(self, first: int) -> Segment:
        if self._segments and self._segments[-1].size < self._segment_bytes:
            return self._segments[-1]
        if self._segments:
            self._segments[-1].end_direct_writes()
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = os.path.join(self._directory, f"{self._name}-{self._made}")
        segment = Segment(SegmentFile(path), first)
        self._made += 1
        self._segments.append(segment)
        return segment

    def _segment_with(self, number: int) -> Segment | None:
        return next((s for s in self._segments if s.first <= number <= s.last), None)

    def find(self, number: int, max_bytes: int, before: FileRange | None) -> FileRange | None:
        """The range that begins with event `number`, about `max_bytes` long; None if it was removed.

        `before` is the range that the caller had last; the one that follows it needs no search.
        """
        with self._lock:
            segment = self._segment_with(number)
            if segment is None:
                return None
            try:
                if before is not None and before.file is segment.file and before.last + 1 == number:
                    offset = before.end
                else:
                    offset = segment.find(number)
                found = segment.range_from(number, offset, max_bytes)
                found.warm()
            except (OSError, ValueError):
                # An unreadable disk keeps nothing: readers get a gap instead of waiting.
                self._drop_all()
                return None
            return found

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
