"""The event log of one server_id: the gapless numbered sequence of its events, in memory, then on disk.

Publishing and attaching happen on the event loop, each in one step without an await, so no event can fall
between replay and live. Events that leave the ring are written to the spill through `background`, which runs
a job in a worker thread and then calls back on the loop; until then they stay readable in `_unwritten`.
Subscribers hold a `Cursor`.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.cursor import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sandbox_agent.bridge.eventlog.cursor import Wake
    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.spill import Spill
    from sandbox_agent.bridge.eventlog.sse_frames import Block, Frames

    Background = Callable[[Callable[[], Any], Callable[[Any], None]], None]

# The most that one `take` returns: large enough to amortise a system call, small enough to be fair.
BATCH_BYTES = 256 * 1024
# A read from disk costs a round trip to a worker thread, so it returns more.
_DISK_BATCH_BYTES = 1024 * 1024
# A write costs a round trip to a worker thread as well, so short events are collected.
_MIN_WRITE_BYTES = 1024 * 1024
# If more than this waits for the disk, the agent's output is paused.
CONGESTION_BYTES = 16 * 1024 * 1024


class Retention:
    """The limits of the ring in memory.

    With a spill the ring may exceed its bytes by `slack_bytes`, so that the disk is written in batches.
    """

    __slots__ = ("ring_bytes", "ring_events", "slack_bytes")

    def __init__(
        self,
        ring_events: int = 8192,
        ring_bytes: int = 64 * 1024 * 1024,
        slack_bytes: int | None = None,
    ) -> None:
        self.ring_events = ring_events
        self.ring_bytes = ring_bytes
        self.slack_bytes = min(4 << 20, ring_bytes // 8) if slack_bytes is None else slack_bytes


class EventLog:
    __slots__ = (
        "_background",
        "_cursors",
        "_evict_above_bytes",
        "_evict_above_events",
        "_head",
        "_retention",
        "_ring",
        "_ring_bytes",
        "_ring_first",
        "_slack_events",
        "_spill",
        "_unwritten",
        "_unwritten_bytes",
        "_writing",
        "closed",
        "defers_wake",
        "last",
        "on_congestion",
        "waiting",
    )

    def __init__(
        self,
        retention: Retention,
        *,
        first: int = 1,
        spill: Spill | None = None,
        background: Background | None = None,
    ) -> None:
        self._retention = retention
        self._spill = spill if background is not None else None
        self._background = background
        has_spill = self._spill is not None
        self._slack_events = min(1024, retention.ring_events // 8) if has_spill else 0
        self._evict_above_events = retention.ring_events + self._slack_events
        self._evict_above_bytes = retention.ring_bytes + (retention.slack_bytes if has_spill else 0)
        self._ring: list[Block] = []
        self._head = 0
        """Index of the oldest block of the ring."""
        self._ring_first = first
        self._ring_bytes = 0
        self._unwritten: list[_UnwrittenBatch] = []
        self._unwritten_bytes = 0
        self._writing = False
        # Dicts instead of sets: an empty dict is a third as large, and most logs have no subscriber.
        self._cursors: dict[Cursor, None] = {}
        self.waiting: dict[Cursor, None] = {}
        """Cursors at the end of the log; they are woken by the next event."""
        self.closed = False
        self.defers_wake = False
        """More will be published in this step; `wake_waiting` wakes the cursors after it."""
        self.last = first - 1
        self.on_congestion: Callable[[bool], None] | None = None

    @property
    def oldest(self) -> int:
        """Number of the oldest retained event; `last + 1` when nothing is retained."""
        if self._spill is not None and (on_disk := self._spill.oldest) is not None:
            return on_disk
        return self.first_in_memory

    @property
    def subscribers(self) -> int:
        return len(self._cursors)

    @property
    def congested(self) -> bool:
        return self._unwritten_bytes > CONGESTION_BYTES

    def publish_line(self, line: bytes) -> None:
        """Append one event and wake the waiting cursors."""
        self.append(sse_frames.encode_line(self.last + 1, line), 1)

    def publish(self, lines: Sequence[bytes]) -> None:
        """Append events and wake the waiting cursors."""
        if self.closed or not lines:
            return
        if len(lines[0]) <= sse_frames.LONG_EVENT_BYTES:
            self.append(sse_frames.encode(self.last + 1, lines), len(lines))
            return
        deferred, self.defers_wake = self.defers_wake, True
        try:
            for line in lines:
                self.publish_line(line)
        finally:
            self.defers_wake = deferred
            if not deferred:
                self.wake_waiting()

    def append(self, block: Block, count: int) -> None:
        """Append a block of `count` frames, numbered from `last + 1` on, and wake the waiting cursors."""
        if self.closed:
            return
        self._ring.append(block)
        self._ring_bytes += len(block) if isinstance(block, bytes) else sse_frames.size_of(block)
        self.last += count
        if self.waiting and not self.defers_wake:
            self.wake_waiting()
        has_slack = self.last - self._ring_first < self._evict_above_events
        if not (has_slack and self._ring_bytes <= self._evict_above_bytes) and self._should_evict:
            self._evict()

    def wake_waiting(self) -> None:
        """Wake the cursors that wait at the end."""
        waiting, self.waiting = self.waiting, {}
        for cursor in waiting:
            cursor.wake()

    @property
    def _should_evict(self) -> bool:
        """Whether the ring, beyond its limits, is to be cut now; short events may wait for a larger write."""
        if self._ring_bytes > self._evict_above_bytes:
            return True
        events = self.last - self._ring_first + 1
        over = events - self._retention.ring_events
        bytes_over = self._ring_bytes * over // events
        return bytes_over >= _MIN_WRITE_BYTES or over > 4 * self._slack_events

    def _evict(self) -> None:
        """Remove the oldest events until the ring is within its limits; the newest event always stays."""
        first, bytes_before = self._ring_first, self._ring_bytes
        evicted = self._evict_whole_blocks() if self._spill is not None else []
        while self._ring_first < self.last:
            events_over = self.last - self._ring_first + 1 - self._retention.ring_events
            bytes_over = self._ring_bytes - self._retention.ring_bytes
            if events_over <= 0 and bytes_over <= 0:
                break
            block = self._ring[self._head]
            kept = self._kept_of(block, events_over, bytes_over)
            if kept:
                self._ring[self._head] = kept
                self._ring_first = sse_frames.first_number(kept)
                block = sse_frames.before(block, kept)
            else:
                self._ring[self._head] = b""
                self._head += 1
                self._ring_first = sse_frames.first_number(self._ring[self._head])
            self._ring_bytes -= sse_frames.size_of(block)
            evicted.append(block)
        if self._head * 2 > len(self._ring):
            del self._ring[: self._head]
            self._head = 0
        if self._spill is not None and evicted:
            batch = _UnwrittenBatch(first, self._ring_first - 1, evicted, bytes_before - self._ring_bytes)
            self._unwritten.append(batch)
            self._unwritten_bytes += batch.size
            self._write_to_disk()
            if self.congested and self.on_congestion:
                self.on_congestion(True)

    def _evict_whole_blocks(self) -> list[Block]:
        """Remove all surplus blocks but the newest in one step; one step per block would block the loop."""
        ring, head, newest = self._ring, self._head, len(self._ring) - 1
        keep_from = self.last - self._retention.ring_events + 1
        end = min(bisect_left(ring, keep_from, head, key=sse_frames.first_number), newest)
        size = sum(map(sse_frames.size_of, ring[head:end]))
        while self._ring_bytes - size > self._retention.ring_bytes and end < newest:
            size += sse_frames.size_of(ring[end])
            end += 1
        if end <= head:
            return []
        evicted = sse_frames.joined(ring[head:end])
        del ring[:end]
        self._head = 0
        self._ring_first = sse_frames.first_number(ring[0])
        self._ring_bytes -= size
        return evicted

    def _kept_of(self, block: Block, events_over: int, bytes_over: int) -> Block:
        """The part of the oldest block that stays; empty if all of it is surplus."""
        is_only = self._head == len(self._ring) - 1
        if not is_only:
            next_first = sse_frames.first_number(self._ring[self._head + 1])
            if next_first - self._ring_first <= events_over:
                return b""
        if events_over > 0:
            return sse_frames.from_number(block, self._ring_first + events_over)
        kept = sse_frames.from_byte(block, bytes_over)
        return kept or (sse_frames.newest(block) if is_only else b"")

    def _write_to_disk(self) -> None:
        if self._writing or not self._unwritten or self._spill is None or self._background is None:
            return
        self._writing = True
        spill, batches = self._spill, list(self._unwritten)
        blocks = [block for batch in batches for block in batch.blocks]
        last = batches[-1].last

        def written(_: Any) -> None:
            self._writing = False
            for batch in batches:
                if self._unwritten and self._unwritten[0] is batch:
                    del self._unwritten[0]
                    self._unwritten_bytes -= batch.size
            if self.on_congestion and not self.congested:
                self.on_congestion(False)
            self._write_to_disk()

        self._background(lambda: spill.append(blocks, last), written)

    def attach(self, last_event_id: int | None, wake: Wake) -> Cursor:
        """A cursor for everything after `last_event_id`, or for everything retained."""
        oldest = self.oldest
        gap = last_event_id is not None and not oldest - 1 <= last_event_id <= self.last
        position = oldest if gap or last_event_id is None else last_event_id + 1
        cursor = Cursor(self, position, wake, starts_with_gap=gap)
        self._cursors[cursor] = None
        return cursor

    def follow(self, wake: Wake) -> Cursor:
        """A cursor at the end that is not a subscriber: for an index over the log."""
        cursor = Cursor(self, self.last + 1, wake, starts_with_gap=False)
        self.waiting[cursor] = None
        return cursor

    def close(self) -> None:
        """Drop all retained events and wake every cursor, which has ended then."""
        if self.closed:
            return
        self.closed = True
        self._ring, self._head, self._ring_bytes = [], 0, 0
        self._ring_first = self.last + 1
        self._unwritten.clear()
        if self._spill is not None and self._background is not None:
            self._background(self._spill.close, lambda _: None)
        self.waiting.clear()
        for cursor in list(self._cursors):
            cursor.wake()

    # ---- for cursors -------------------------------------------------------------------------------------

    @property
    def first_in_memory(self) -> int:
        return self._unwritten[0].first if self._unwritten else self._ring_first

    def in_memory(self, number: int) -> Frames | None:
        """Events from `number` on; None if that event is not in memory any more."""
        if number >= self._ring_first:
            return sse_frames.take(self._ring, self._head, self.last, number, BATCH_BYTES)
        for batch in self._unwritten:
            if batch.first <= number <= batch.last:
                return sse_frames.take(batch.blocks, 0, batch.last, number, BATCH_BYTES)
        return None

    def fetch(
        self, number: int, before: FileRange | None, fetched: Callable[[FileRange | None], None]
    ) -> None:
        """Find a range on disk in a worker thread; `fetched` gets None if the events were removed."""
        spill = self._spill
        if spill is None or self._background is None:  # pragma: no cover - below the ring there is the spill
            raise RuntimeError("an event below the ring, but no spill")
        self._background(lambda: spill.find(number, _DISK_BATCH_BYTES, before), fetched)

    def detach(self, cursor: Cursor) -> None:
        self._cursors.pop(cursor, None)
        self.waiting.pop(cursor, None)


class _UnwrittenBatch:
    """Events that have left the ring and are not on disk yet."""

    __slots__ = ("blocks", "first", "last", "size")

    def __init__(self, first: int, last: int, blocks: list[Block], size: int) -> None:
        self.first = first
        self.last = last
        self.blocks = blocks
        self.size = size
