"""The bound on the number of open event streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import TooManyStreams

if TYPE_CHECKING:
    from sandbox_agent.bridge.eventlog.cursor import Cursor, Wake
    from sandbox_agent.bridge.eventlog.event_log import EventLog


class StreamSlots:
    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self.ended = 0
        """Streams that have ended so far."""

    def attach(self, log: EventLog, last_event_id: int | None, wake: Wake) -> Cursor:
        """Take a slot and open a cursor. Raises TooManyStreams."""
        self.take()
        return log.attach(last_event_id, wake)

    def detach(self, cursor: Cursor) -> None:
        self.release()
        cursor.detach()

    def take(self) -> None:
        """Take a slot. Raises TooManyStreams."""
        self.check_room()
        self._taken += 1

    def check_room(self) -> None:
        """Raises TooManyStreams if no slot is free."""
        if self._taken >= self._limit:
            raise TooManyStreams(self._limit)

    def release(self) -> None:
        self._taken -= 1
        self.ended += 1
