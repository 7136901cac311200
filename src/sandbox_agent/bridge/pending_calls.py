"""A call that waits for its answer.

An identical body under an id in flight joins the waiting call (a retry after a broken connection is not a
second prompt); another body is a conflict. A call without waiters stays: its answer is still expected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio.stdin_queue import Outgoing
from sandbox_agent.errors import Conflict, SandboxAgentError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

Answer = bytes | SandboxAgentError
Waiter: TypeAlias = "Callable[[Answer], None]"


class PendingCall(Outgoing):
    """A message on its way to the agent, and who waits for what becomes of it."""

    __slots__ = ("key", "limit_s", "sent_at", "waiters")

    def __init__(
        self,
        key: bytes,
        data: bytes,
        waiter: Waiter | None,
        limit_s: float | None,
        on_written: Callable[[], None] | None = None,
    ) -> None:
        # What `Outgoing` would set; every message comes by here, and a call of its own would show.
        self.data = data
        self.size = len(data) + 1
        self.sent = 0
        self.on_written = on_written
        self.key = key
        self.waiters = [waiter] if waiter else []
        self.limit_s = limit_s
        """Silence allowed to this call; None for the clock's own limit."""
        self.sent_at = 0.0
        """Active time at which it was handed to the process."""

    def join(self, data: bytes, waiter: Waiter | None) -> None:
        """The same message again: let its waiter wait too. Raises Conflict if it is another message."""
        if self.data != data:
            raise Conflict("a different request with the same id is in flight")
        if waiter:
            self.waiters.append(waiter)

    def settle(self, answer: Answer) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(answer)
