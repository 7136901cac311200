"""A cursor: the position of one subscriber in the shared event log. It copies nothing and slows nothing.

Events in memory are handed out as they are. Ranges on disk are fetched one step ahead, so that the next one
is ready when the subscriber takes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.sse_frames import Frames

    _Taken = TypeVar("_Taken", Frames, FileRange)

    Wake = Callable[[], object]


class Gap:
    __slots__ = ("newest", "oldest")

    def __init__(self, oldest: int, newest: int) -> None:
        self.oldest = oldest
        self.newest = newest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Gap) and (self.oldest, self.newest) == (other.oldest, other.newest)

    def __repr__(self) -> str:
        return f"Gap({self.oldest}, {self.newest})"


def _ignore() -> None:
    """The `wake` of a cursor that is detached."""


class Cursor:
    """`take` until it returns None; then `wake` is called when there is more."""

    __slots__ = (
        "_fetched",
        "_is_awaited",
        "_is_fetching",
        "_is_released",
        "_log",
        "_starts_with_gap",
        "position",
        "wake",
    )

    def __init__(self, log: EventLog, position: int, wake: Wake, *, starts_with_gap: bool) -> None:
        self._log = log
        self._starts_with_gap = starts_with_gap
        self._fetched: FileRange | None = None
        self._is_fetching = False
        self._is_released = False
        """Nothing will be taken soon: a range that arrives from disk is dropped."""
        self._is_awaited = False
        """`take` has returned None because of the fetch; a fetch ahead does not call `wake`."""
        self.position = position
        self.wake = wake

    @property
    def ended(self) -> bool:
        return self._log.closed

    @property
    def is_at_end(self) -> bool:
        """Whether everything has been taken; if not, and `take` has returned None, it waits for the disk."""
        return self.position > self._log.last

    def take(self) -> Frames | FileRange | Gap | None:
        log = self._log
        self._is_released = False
        if log.closed:
            return None
        if self._fetched is not None:
            events, self._fetched = self._fetched, None
            self._advance(events)
            if self.position < log.first_in_memory:
                self._fetch(events)
            return events
        if self._is_fetching:
            self._is_awaited = True
            return None
        if self._starts_with_gap:
            return self._gap()
        if self.position > log.last:
            log.waiting[self] = None
            return None
        in_memory = log.in_memory(self.position)
        if in_memory is not None:
            return self._advance(in_memory)
        if self.position < log.oldest:
            return self._gap()
        self._fetch(None)
        self._is_awaited = True
        return None

    def _gap(self) -> Gap:
        """Go on with the oldest event that is left."""
        log = self._log
        self._starts_with_gap = False
        self.position = log.oldest
        return Gap(log.oldest, log.last)

    def _advance(self, events: _Taken) -> _Taken:
        self.position = events.last + 1
        return events

    def _fetch(self, before: FileRange | None) -> None:
        """Get the next range from a worker thread."""
        self._is_fetching = True

        def fetched(found: FileRange | None) -> None:
            self._is_fetching = False
            if not self._is_released:
                self._fetched = found
            if self._is_awaited:
                self._is_awaited = False
                self.wake()

        self._log.fetch(self.position, before, fetched)

    def release(self) -> None:
        """Drop what was fetched ahead, so that a subscriber that cannot take more keeps no file open."""
        self._is_released = True
        self._fetched = None

    def detach(self) -> None:
        """End the subscription; references to files and to `wake` are dropped at once."""
        self._log.detach(self)
        self.release()
        self.wake = _ignore
