"""Calls that wait for their answer, by JSON-RPC id.

An identical body under an id in flight joins the waiting call (a retry after a broken connection is not a
second prompt); another body is a conflict. A call without waiters stays: its answer is still expected.
"""

from __future__ import annotations

from sandbox_agent.errors import Conflict, SandboxAgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from sandbox_agent.bridge.input_queue import Outgoing

Answer = bytes | SandboxAgentError
Waiter: TypeAlias = "Callable[[Answer], None]"


class Call:
    __slots__ = ("body", "key", "limit_s", "outgoing", "sent_at", "waiters")

    def __init__(self, key: bytes, body: bytes, waiter: Waiter | None, limit_s: float | None) -> None:
        self.key = key
        self.body = body
        self.waiters = [waiter] if waiter else []
        self.limit_s = limit_s
        """Silence allowed to this call; None for the clock's own limit."""
        self.sent_at = 0.0
        """Active time at which it was handed to the process."""
        self.outgoing: Outgoing | None = None

    def settle(self, answer: Answer) -> None:
        waiters, self.waiters = self.waiters, []
        for waiter in waiters:
            waiter(answer)


class PendingCalls:
    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[bytes, Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[Call]:
        return iter(list(self._calls.values()))

    def join(self, key: bytes, body: bytes, waiter: Waiter | None) -> bool:
        """True if the same message is in flight already and the waiter was added to it. Raises Conflict."""
        call = self._calls.get(key)
        if call is None:
            return False
        if call.body != body:
            raise Conflict("a different request with the same id is in flight")
        if waiter:
            call.waiters.append(waiter)
        return True

    def add(self, call: Call) -> None:
        self._calls[call.key] = call

    def pop(self, key: bytes) -> Call | None:
        return self._calls.pop(key, None)

    def settle_all(self, answer: Answer) -> None:
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call.settle(answer)
