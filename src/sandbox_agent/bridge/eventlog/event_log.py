"""The gapless numbered sequence of everything one server_id has published: memory first, then disk.

Publishing and attaching happen on the event loop, each in one step without an await, so there is no moment
at which an event could fall between replay and live. What falls out of the ring goes to the spill through
`background`, a function that runs a job in a worker and then calls back on the loop; until it is written it
stays readable here. Readers (`log_reader.py`) hold a position in the shared sequence.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import frames
from sandbox_agent.bridge.eventlog.cursor import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sandbox_agent.bridge.eventlog.cursor import Wake
    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.frames import Block, Frames
    from sandbox_agent.bridge.eventlog.spill import Spill

    Background = Callable[[Callable[[], Any], Callable[[Any], None]], None]

# How much one read hands out at most: large enough to amortise a system call, small enough to stay fair.
BATCH_BYTES = 256 * 1024
# A read from disk is a trip to a worker thread and back, which costs more than the reading: it brings more.
_DISK_BATCH_BYTES = 1024 * 1024
# A write is a trip to a worker thread too.
_WORTH_A_WRITE_BYTES = 1024 * 1024
# More than this waiting for the disk, and the agent is made to wait too.
CONGESTION_BYTES = 16 * 1024 * 1024


class Retention:
    """How much stays in memory."""

    __slots__ = ("ring_bytes", "ring_events")

    def __init__(self, ring_events: int = 8192, ring_bytes: int = 64 * 1024 * 1024) -> None:
        self.ring_events = ring_events
        self.ring_bytes = ring_bytes


class EventLog:
    __slots__ = (
        "_background",
        "_evict_above_bytes",
        "_evict_above_events",
        "_head",
        "_overflow",
        "_overflow_bytes",
        "_readers",
        "_retention",
        "_ring",
        "_ring_bytes",
        "_ring_first",
        "_slack_events",
        "_spill",
        "_writing",
        "closed",
        "gathering",
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
        # With a disk behind it the ring may run over a little, so that the disk is written in larger batches.
        slack = 1 / 8 if self._spill is not None else 0
        self._slack_events = min(1024, int(retention.ring_events * slack))
        self._evict_above_events = retention.ring_events + self._slack_events
        self._evict_above_bytes = retention.ring_bytes + min(4 << 20, int(retention.ring_bytes * slack))
        self._ring: list[Block] = []
        self._head = 0
        """Where the ring begins; what is before it has gone."""
        self._ring_first = first
        self._ring_bytes = 0
        self._overflow: list[_Overflow] = []
        self._overflow_bytes = 0
        self._writing = False
        # Dicts in place of sets: empty ones are a third as large, and most logs have no reader.
        self._readers: dict[Cursor, None] = {}
        self.waiting: dict[Cursor, None] = {}
        """Readers who have everything, and are woken when there is more."""
        self.closed = False
        self.gathering = False
        """More is about to be published: readers are woken once it is there, by `wake_readers`."""
        self.last = first - 1
        self.on_congestion: Callable[[bool], None] | None = None

    @property
    def oldest(self) -> int:
        """Number of the oldest retained event; `last + 1` when nothing is retained."""
        if self._spill is not None and (on_disk := self._spill.oldest) is not None:
            return on_disk
        return self.first_in_memory

    @property
    def readers(self) -> int:
        return len(self._readers)

    @property
    def congested(self) -> bool:
        return self._overflow_bytes > CONGESTION_BYTES

    def publish_line(self, line: bytes) -> None:
        """Append one event and wake every reader that waits."""
        self.append(frames.encode_line(self.last + 1, line), 1)

    def publish(self, lines: Sequence[bytes]) -> None:
        """Append events and wake every reader that waits."""
        if self.closed or not lines:
            return
        if len(lines[0]) <= frames.BLOCK_OF_ITS_OWN_BYTES:
            self.append(frames.encode(self.last + 1, lines), len(lines))
            return
        gathering, self.gathering = self.gathering, True
        try:
            for line in lines:
                self.publish_line(line)
        finally:
            self.gathering = gathering
            if not gathering:
                self.wake_readers()

    def append(self, block: Block, count: int) -> None:
        """The same with events that are frames already, numbered from `last + 1` on."""
        if self.closed:
            return
        self._ring.append(block)
        self._ring_bytes += len(block) if isinstance(block, bytes) else frames.size_of(block)
        self.last += count
        if self.waiting and not self.gathering:
            # Whoever waits has everything before this block.
            waiting, self.waiting = self.waiting, {}
            for reader in waiting:
                reader.wake(block)
        has_slack = self.last - self._ring_first < self._evict_above_events
        if not (has_slack and self._ring_bytes <= self._evict_above_bytes) and self._is_worth_a_write:
            self._evict()

    def wake_readers(self) -> None:
        """Tell everybody who waits that there is more."""
        waiting, self.waiting = self.waiting, {}
        for reader in waiting:
            reader.wake(None)

    @property
    def _is_worth_a_write(self) -> bool:
        """The ring is beyond its slack; of small events some more may wait until they are worth a write."""
        if self._ring_bytes > self._evict_above_bytes:
            return True
        events = self.last - self._ring_first + 1
        over = events - self._retention.ring_events
        bytes_over = self._ring_bytes * over // events
        return bytes_over >= _WORTH_A_WRITE_BYTES or over > 4 * self._slack_events

    def _evict(self) -> None:
        """Let the oldest go until the ring keeps to its size; the newest event always stays."""
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
                self._ring_first = frames.first_number(kept)
                block = frames.before(block, kept)
            else:
                self._ring[self._head] = b""
                self._head += 1
                self._ring_first = frames.first_number(self._ring[self._head])
            self._ring_bytes -= frames.size_of(block)
            evicted.append(block)
        if self._head * 2 > len(self._ring):
            del self._ring[: self._head]
            self._head = 0
        if self._spill is not None and evicted:
            overflow = _Overflow(first, self._ring_first - 1, evicted, bytes_before - self._ring_bytes)
            self._overflow.append(overflow)
            self._overflow_bytes += overflow.size
            self._write_overflow()
            if self.congested and self.on_congestion:
                self.on_congestion(True)

    def _evict_whole_blocks(self) -> list[Block]:
        """All blocks that are too many, the newest aside; a step for each would make everybody wait."""
        ring, head, newest = self._ring, self._head, len(self._ring) - 1
        keep_from = self.last - self._retention.ring_events + 1
        end = min(bisect_left(ring, keep_from, head, key=frames.first_number), newest)
        size = sum(map(frames.size_of, ring[head:end]))
        while self._ring_bytes - size > self._retention.ring_bytes and end < newest:
            size += frames.size_of(ring[end])
            end += 1
        if end <= head:
            return []
        evicted = frames.joined(ring[head:end])
        del ring[:end]
        self._head = 0
        self._ring_first = frames.first_number(ring[0])
        self._ring_bytes -= size
        return evicted

    def _kept_of(self, block: Block, events_over: int, bytes_over: int) -> Block:
        """What stays of the oldest block; nothing if it can go as a whole."""
        is_only = self._head == len(self._ring) - 1
        if not is_only:
            next_first = frames.first_number(self._ring[self._head + 1])
            if next_first - self._ring_first <= events_over:
                return b""
        if events_over > 0:
            return frames.from_number(block, self._ring_first + events_over)
        kept = frames.from_byte(block, bytes_over)
        return kept or (frames.newest(block) if is_only else b"")

    def _write_overflow(self) -> None:
        if self._writing or not self._overflow or self._spill is None or self._background is None:
            return
        self._writing = True
        spill, batches = self._spill, list(self._overflow)
        blocks = [block for batch in batches for block in batch.blocks]
        last = batches[-1].last

        def written(_: Any) -> None:
            self._writing = False
            for batch in batches:
                if self._overflow and self._overflow[0] is batch:
                    del self._overflow[0]
                    self._overflow_bytes -= batch.size
            if self.on_congestion and not self.congested:
                self.on_congestion(False)
            self._write_overflow()

        self._background(lambda: spill.append(blocks, last), written)

    def attach(self, last_event_id: int | None, wake: Wake) -> Cursor:
        """A reader of everything after `last_event_id`, or of everything retained."""
        oldest = self.oldest
        gap = last_event_id is not None and not oldest - 1 <= last_event_id <= self.last
        position = oldest if gap or last_event_id is None else last_event_id + 1
        reader = Cursor(self, position, wake, starts_with_gap=gap)
        self._readers[reader] = None
        return reader

    def close(self) -> None:
        """No more events; everything retained is forgotten, and every reader is told."""
        if self.closed:
            return
        self.closed = True
        self._ring, self._head, self._ring_bytes = [], 0, 0
        self._ring_first = self.last + 1
        self._overflow.clear()
        if self._spill is not None and self._background is not None:
            self._background(self._spill.close, lambda _: None)
        self.waiting.clear()
        for reader in list(self._readers):
            reader.wake(None)

    # ---- for readers -------------------------------------------------------------------------------------

    @property
    def first_in_memory(self) -> int:
        return self._overflow[0].first if self._overflow else self._ring_first

    def in_memory(self, number: int) -> Frames | None:
        """Some events from this one on; None if it has left the memory."""
        if number >= self._ring_first:
            return frames.take(self._ring, self._head, self.last, number, BATCH_BYTES)
        for batch in self._overflow:
            if batch.first <= number <= batch.last:
                return frames.take(batch.blocks, 0, batch.last, number, BATCH_BYTES)
        return None

    def in_cache(self, number: int, before: FileRange) -> FileRange | None:
        """The events that follow `before` on disk, if they can be had without waiting."""
        return self._spill.find_in_cache(number, _DISK_BATCH_BYTES, before) if self._spill else None

    def fetch(
        self, number: int, before: FileRange | None, fetched: Callable[[FileRange | None], None]
    ) -> None:
        """Look on the disk, in the background; without an answer the events are gone by now."""
        spill = self._spill
        if spill is None or self._background is None:  # pragma: no cover - below the ring there is the spill
            raise RuntimeError("an event below the ring without a spill")
        self._background(lambda: spill.find(number, _DISK_BATCH_BYTES, before), fetched)

    def leave(self, reader: Cursor) -> None:
        self._readers.pop(reader, None)
        self.waiting.pop(reader, None)


class _Overflow:
    """What has left the ring and is on its way to the disk."""

    __slots__ = ("blocks", "first", "last", "size")

    def __init__(self, first: int, last: int, blocks: list[Block], size: int) -> None:
        self.first = first
        self.last = last
        self.blocks = blocks
        self.size = size
