"""What the clients of an instance have posted: the newest messages, numbered, in memory only.

It is separate from the event log, whose stream has the agent's messages only. Adding a message is one append
on the path of every POST (0.3 µs); frames are made when a reader asks for them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_MESSAGES = 8192
MAX_BYTES = 16 * 1024 * 1024
# Longer messages, such as pictures, are kept without their text: memory that is held and not used again at
# once costs page faults with every POST.
MAX_MESSAGE_BYTES = 32 * 1024
OMITTED = b"null"


class ClientMessage:
    __slots__ = ("after", "body", "number", "time_ms")

    def __init__(self, number: int, after: int, time_ms: int, body: bytes) -> None:
        self.number = number
        self.after = after
        """The number of the agent's last message before it."""
        self.time_ms = time_ms
        self.body = body


class ClientLog:
    def __init__(self) -> None:
        self.last = 0
        self.waiting: dict[Callable[[], object], None] = {}
        """Called once when the next message is added."""
        self._messages: deque[tuple[int, int, bytes]] = deque()
        self._bytes = 0

    @property
    def oldest(self) -> int:
        """Number of the oldest kept message; `last + 1` if there is none."""
        return self.last - len(self._messages) + 1

    def add(self, after: int, time_ns: int, body: bytes) -> None:
        """Keep a message that was accepted when `after` was the last number of the event log."""
        messages = self._messages
        if len(body) > MAX_MESSAGE_BYTES:
            body = OMITTED
        messages.append((after, time_ns, body))
        self.last += 1
        self._bytes += len(body)
        while self._bytes > MAX_BYTES or len(messages) > MAX_MESSAGES:
            self._bytes -= len(messages.popleft()[2])
        if self.waiting:
            waiting, self.waiting = self.waiting, {}
            for wake in waiting:
                wake()

    def after(self, number: int) -> Iterator[ClientMessage]:
        """The kept messages with a larger number."""
        start = max(0, number + 1 - self.oldest)
        for index in range(start, len(self._messages)):
            after, time_ns, body = self._messages[index]
            yield ClientMessage(self.oldest + index, after, time_ns // 1_000_000, body)
