"""Calls that wait for the answer of the agent.

A request with the id and the body of a pending call joins it, because a retry after a broken connection is
not a second prompt; another body is a conflict. A call without waiters stays pending: its answer still comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio.stdin_queue import QueuedMessage
from sandbox_agent.errors import Conflict, SandboxAgentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

Answer = bytes | SandboxAgentError
Waiter: TypeAlias = "Callable[[Answer], None]"


class PendingCall(QueuedMessage):
    """A message to the agent, with the callbacks that wait for its outcome."""

    __slots__ = ("key", "limit_s", "sent_at", "waiters")

    def __init__(self, key: bytes, data: bytes, waiter: Waiter | None, limit_s: float | None) -> None:
        # Sets the attributes of `QueuedMessage` itself: one call less per message.
        self.data = data
        self.size = len(data) + 1
        self.sent = 0
        self.on_written = None
        self.key = key
        self.waiters = [waiter] if waiter else []
        self.limit_s = limit_s
        """The silence allowed for this call; None for the default of the instance."""
        self.sent_at = 0.0
        """When it was queued for stdin: active time, or the clock's time if it has a limit of its own."""

    def join(self, data: bytes, waiter: Waiter | None) -> None:
        """Add the waiter of the same message. Raises Conflict if the message differs."""
        if self.data != data:
            raise Conflict("a different request with the same id is in flight")
        if waiter:
            self.waiters.append(waiter)

    def settle(self, answer: Answer) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(answer)
