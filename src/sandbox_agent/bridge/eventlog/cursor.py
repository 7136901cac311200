"""A reader of an event log: a position in the shared sequence, which costs no memory and slows nobody.

What is in memory is handed out as it is there. What is on disk is fetched, as a rule one step ahead, so that
it is at hand when the reader comes for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.frames import Block, Frames

    _Taken = TypeVar("_Taken", Frames, FileRange)

    Wake = Callable[[Block | None], object]


class Gap:
    __slots__ = ("newest", "oldest")

    def __init__(self, oldest: int, newest: int) -> None:
        self.oldest = oldest
        self.newest = newest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gap) and (self.oldest, self.newest) == (other.oldest, other.newest)

    def __repr__(self) -> str:
        return f"Gap({self.oldest}, {self.newest})"


def _nobody(_: Block | None) -> None:
    """Whom a reader wakes that has left."""


class Cursor:
    """A position in the log. `take` until it returns None; then `wake` is called when there is more.

    If all there is more is one block, `wake` gets it; who takes it says so with `follow`, others `take`.
    """

    __slots__ = ("_awaited", "_fetched", "_fetching", "_gap", "_idle", "_log", "position", "wake")

    def __init__(self, log: EventLog, position: int, wake: Wake, *, starts_with_gap: bool) -> None:
        self._log = log
        self._gap = starts_with_gap
        self._fetched: FileRange | None = None
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

    def follow(self) -> None:
        """The block that `wake` came with has been taken, and with it all there is."""
        self.position = self._log.last + 1
        self._log.waiting[self] = None

    def take(self) -> Frames | FileRange | Gap | None:
        log = self._log
        self._idle = False
        if log.closed:
            return None
        if self._fetched is not None:
            events, self._fetched = self._fetched, None
            self._advance(events)
            if self.position < log.first_in_memory:
                self._fetch(events)
            return events
        if self._fetching:
            self._awaited = True
            return None
        if self._gap or self.position < log.oldest:
            self._gap = False
            self.position = log.oldest
            return Gap(log.oldest, log.last)
        if self.position > log.last:
            log.waiting[self] = None
            return None
        in_memory = log.in_memory(self.position)
        if in_memory is not None:
            return self._advance(in_memory)
        self._fetch(None)
        self._awaited = True
        return None

    def _advance(self, events: _Taken) -> _Taken:
        self.position = events.last + 1
        return events

    def _fetch(self, before: FileRange | None) -> None:
        """Have the next events ready, from the kernel's memory at once or from the disk a little later."""
        if before is not None:
            self._fetched = self._log.in_cache(self.position, before)
            if self._fetched is not None:
                return
        self._fetching = True

        def fetched(found: FileRange | None) -> None:
            self._fetching = False
            if not self._idle:
                self._fetched = found
            if self._awaited:
                self._awaited = False
                self.wake(None)

        self._log.fetch(self.position, before, fetched)

    def rest(self) -> None:
        """Nothing can be taken for now: what was fetched ahead is let go, so that waiting holds no file."""
        self._idle = True
        self._fetched = None

    def detach(self) -> None:
        """No more is wanted: what was fetched, and whoever was to be woken, is let go at once."""
        self._log.leave(self)
        self.rest()
        self.wake = _nobody
