"""The gapless numbered sequence of everything one server_id has published: memory first, then disk.

Publishing and attaching happen on the event loop, each in one step without an await, so there is no moment
at which an event could fall between replay and live. Readers hold a position in the shared sequence; they
cost no memory and slow nobody. What falls out of the ring goes to the spill through `background`, a function
that runs a job in a worker and then calls back on the loop; until it is written it stays readable here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from sandbox_agent.bridge.spill import Spill

Background = Callable[[Callable[[], Any], Callable[[Any], None]], None]

# How much one read hands out at most: large enough to amortise a system call, small enough to stay fair.
BATCH_BYTES = 256 * 1024
# A read from disk is a trip to a worker thread and back, which costs more than the reading: it brings more.
_DISK_BATCH_BYTES = 1024 * 1024
_BATCH_EVENTS = 2048
# More than this waiting for the disk, and the agent is made to wait too.
CONGESTION_BYTES = 16 * 1024 * 1024


class Events(NamedTuple):
    first: int
    lines: Sequence[bytes]


class Gap(NamedTuple):
    oldest: int
    newest: int


class Retention(msgspec.Struct, frozen=True):
    ring_events: int = 8192
    ring_bytes: int = 64 * 1024 * 1024


class EventLog:
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
        self._evict_above_events = retention.ring_events + min(1024, int(retention.ring_events * slack))
        self._evict_above_bytes = retention.ring_bytes + min(4 << 20, int(retention.ring_bytes * slack))
        self._ring: list[bytes] = []
        self._head = 0
        self._ring_first = first
        self._ring_bytes = 0
        self._overflow: list[Events] = []
        self._overflow_bytes = 0
        self._writing = False
        self._waiting: set[Reader] = set()
        self._readers: set[Reader] = set()
        self.closed = False
        self.last = first - 1
        self.on_congestion: Callable[[bool], None] | None = None
        self.encoded: Any = None
        """A place for the transport to keep its last encoded batch, shared by readers at the same spot."""

    @property
    def oldest(self) -> int:
        """Number of the oldest retained event; `last + 1` when nothing is retained."""
        if self._spill is not None and (on_disk := self._spill.oldest) is not None:
            return on_disk
        return self._first_in_memory

    @property
    def readers(self) -> int:
        return len(self._readers)

    @property
    def congested(self) -> bool:
        return self._overflow_bytes > CONGESTION_BYTES

    def publish(self, lines: Sequence[bytes], total_bytes: int) -> None:
        """Append events and wake every reader that waits. `total_bytes` is the sum of their lengths."""
        if self.closed:
            return
        self._ring.extend(lines)
        self._ring_bytes += total_bytes
        self.last += len(lines)
        if (
            len(self._ring) - self._head > self._evict_above_events
            or self._ring_bytes > self._evict_above_bytes
        ):
            self._evict()
        if self._waiting:
            waiting, self._waiting = self._waiting, set()
            for reader in waiting:
                reader.wake()

    def _evict(self) -> None:
        ring, start, end = self._ring, self._head, self._head
        excess = len(ring) - start - self._retention.ring_events
        if excess > 0:
            end += excess
            self._ring_bytes -= sum(map(len, ring[start:end]))
        # The newest event always stays, however large it is.
        while self._ring_bytes > self._retention.ring_bytes and end < len(ring) - 1:
            self._ring_bytes -= len(ring[end])
            end += 1
        evicted = Events(self._ring_first, ring[start:end])
        self._ring_first += end - start
        self._head = end
        if self._head * 2 > len(ring):
            del ring[: self._head]
            self._head = 0
        else:
            ring[start:end] = [b""] * (end - start)
        if self._spill is not None and evicted.lines:
            self._overflow.append(evicted)
            self._overflow_bytes += sum(map(len, evicted.lines))
            self._write_overflow()
            if self.congested and self.on_congestion:
                self.on_congestion(True)

    def _write_overflow(self) -> None:
        if self._writing or not self._overflow or self._spill is None or self._background is None:
            return
        self._writing = True
        spill, batches = self._spill, list(self._overflow)
        first = batches[0].first
        lines = [line for batch in batches for line in batch.lines]

        def written(_: Any) -> None:
            self._writing = False
            for batch in batches:
                if self._overflow and self._overflow[0] is batch:
                    del self._overflow[0]
                    self._overflow_bytes -= sum(map(len, batch.lines))
            if self.on_congestion and not self.congested:
                self.on_congestion(False)
            self._write_overflow()

        self._background(lambda: spill.append(first, lines), written)

    def attach(self, last_event_id: int | None, wake: Callable[[], None]) -> Reader:
        """A reader of everything after `last_event_id`, or of everything retained."""
        oldest = self.oldest
        gap = last_event_id is not None and not oldest - 1 <= last_event_id <= self.last
        position = oldest if gap or last_event_id is None else last_event_id + 1
        reader = Reader(self, position, wake, starts_with_gap=gap)
        self._readers.add(reader)
        return reader

    def close(self) -> None:
        """No more events; everything retained is forgotten, and every reader is told."""
        if self.closed:
            return
        self.closed = True
        self._ring, self._head, self._ring_bytes = [], 0, 0
        self._ring_first = self.last + 1
        self._overflow.clear()
        self.encoded = None
        if self._spill is not None and self._background is not None:
            self._background(self._spill.close, lambda _: None)
        self._waiting.clear()
        for reader in list(self._readers):
            reader.wake()

    @property
    def _first_in_memory(self) -> int:
        return self._overflow[0].first if self._overflow else self._ring_first

    def _in_memory(self, number: int) -> Events | None:
        if number >= self._ring_first:
            start = self._head + number - self._ring_first
            return Events(number, _cut(self._ring, start))
        for batch in self._overflow:
            if batch.first <= number < batch.first + len(batch.lines):
                return Events(number, _cut(batch.lines, number - batch.first))
        return None


def _cut(lines: Sequence[bytes], start: int) -> Sequence[bytes]:
    """As many lines from `start` on as make one batch, at least one."""
    batch = lines[start : start + _BATCH_EVENTS]
    if sum(map(len, batch)) <= BATCH_BYTES:
        return batch
    size = 0
    for count, line in enumerate(batch):
        size += len(line)
        if size > BATCH_BYTES:
            return batch[: max(count, 1)]
    return batch


def _nobody() -> None:
    """Whom a reader wakes that has left."""


class Reader:
    """A position in the log. `take` until it returns None; then `wake` is called when there is more."""

    __slots__ = ("_awaited", "_fetched", "_fetching", "_gap", "_idle", "_log", "position", "wake")

    def __init__(
        self, log: EventLog, position: int, wake: Callable[[], None], *, starts_with_gap: bool
    ) -> None:
        self._log = log
        self._gap = starts_with_gap
        self._fetched: Events | None = None
        self._fetching = False
        self._idle = False
        """Nobody will take anything soon: what comes from disk is not kept."""
        self._awaited = False
        """Whether somebody waits for what is being fetched; a fetch ahead of time wakes nobody."""
        self.position = position
        self.wake = wake

    @property
    def ended(self) -> bool:
        return self._log.closed

    def take(self) -> Events | Gap | None:
        log = self._log
        self._idle = False
        if log.closed:
            return None
        if self._fetched is not None:
            events, self._fetched = self._fetched, None
            self._advance(events)
            if self.position < log._first_in_memory:
                self._fetch()
            return events
        if self._fetching:
            self._awaited = True
            return None
        if self._gap or self.position < log.oldest:
            self._gap = False
            self.position = log.oldest
            return Gap(log.oldest, log.last)
        if self.position > log.last:
            log._waiting.add(self)
            return None
        in_memory = log._in_memory(self.position)
        if in_memory is not None:
            return self._advance(in_memory)
        self._fetch()
        self._awaited = True
        return None

    def _advance(self, events: Events) -> Events:
        self.position = events.first + len(events.lines)
        return events

    def _fetch(self) -> None:
        """Read from disk in the background; an empty answer means the events are gone by now."""
        spill, background = self._log._spill, self._log._background
        if spill is None or background is None:  # pragma: no cover - the range below the ring is the spill's
            raise RuntimeError("an event below the ring without a spill")
        number = self.position
        self._fetching = True

        def fetched(lines: list[bytes] | None) -> None:
            self._fetching = False
            if lines and not self._idle:
                self._fetched = Events(number, lines)
            if self._awaited:
                self._awaited = False
                self.wake()

        background(lambda: spill.read(number, _DISK_BATCH_BYTES), fetched)

    def rest(self) -> None:
        """Nothing can be taken for now: what was fetched ahead is let go, so that waiting costs no memory."""
        self._idle = True
        self._fetched = None

    def detach(self) -> None:
        """No more is wanted: what was fetched, and whoever was to be woken, is let go at once."""
        self._log._readers.discard(self)
        self._log._waiting.discard(self)
        self.rest()
        self.wake = _nobody
