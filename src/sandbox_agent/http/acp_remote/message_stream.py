"""One stream of a connection: which events of the instance's log it carries, in which order.

A stream holds numbers of events, not messages. The `id:` of an event on a stream is its position there, from
1 on without gaps, so `Last-Event-ID` resumes a stream exactly, also if an event was sent later than others
with higher numbers.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from sandbox_agent.bridge.eventlog.event_reader import Window

    class Receiver(Protocol):
        def pump(self, window: Window) -> None:
            """Events were added; `window` has some of them."""

        def replace(self) -> None:
            """Another receiver has taken over the stream."""


# How many numbers are added between two removals of those whose events are not retained any more.
_PRUNE_EVERY = 4096


class MessageStream:
    __slots__ = ("_dropped", "_numbers", "receiver", "sent")

    def __init__(self) -> None:
        self._numbers = array("Q")
        self._dropped = 0
        """Positions before the first one that is held."""
        self.receiver: Receiver | None = None
        self.sent = 0
        """The position of the last event that was written to a receiver."""

    @property
    def last(self) -> int:
        return self._dropped + len(self._numbers)

    def add(self, number: int, oldest: int) -> None:
        """Append an event; `oldest` is the oldest one that the log retains."""
        self._numbers.append(number)
        if len(self._numbers) % _PRUNE_EVERY == 0:
            surplus = next((i for i, held in enumerate(self._numbers) if held >= oldest), len(self._numbers))
            del self._numbers[:surplus]
            self._dropped += surplus

    def number_at(self, position: int) -> int:
        """The event at a position; 0 if its number was removed."""
        return self._numbers[position - self._dropped - 1] if position > self._dropped else 0

    def first_from(self, position: int, oldest: int) -> int:
        """The first position from `position` on whose event is retained; `last + 1` if there is none."""
        position = max(position, self._dropped + 1)
        while position <= self.last and self.number_at(position) < oldest:
            position += 1
        return position
