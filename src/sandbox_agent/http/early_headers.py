"""Replies that wait for the agent, kept alive on the way when that takes long (decision 15)."""

from __future__ import annotations

from sandbox_agent.bridge import loops
from sandbox_agent.errors import SandboxAgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.pending import Answer
    from sandbox_agent.http.acp_post import Reply


class Waiting:
    """A reply that waits for the agent."""

    __slots__ = ("_early", "_id", "_reply", "announced", "settled")

    def __init__(self, reply: Reply, raw_id: bytes, early: EarlyHeaders) -> None:
        self._reply = reply
        self._id = raw_id
        self._early = early
        self.announced = False
        self.settled = False

    def watch(self) -> None:
        if not self.settled:
            self._early.add(self)

    def keep_alive(self) -> None:
        if self.announced:
            self._reply.blank()
        else:
            self.announced = True
            self._reply.announce()

    def settle(self, answer: Answer) -> None:
        self.settled = True
        if not isinstance(answer, SandboxAgentError):
            self._reply.answer(answer)
        elif self.announced:
            self._reply.answer(_as_json_rpc(self._id, answer))
        else:
            self._reply.refuse(answer)
        self._early.discard(self)


def _as_json_rpc(raw_id: bytes, error: SandboxAgentError) -> bytes:
    """The status has gone out; what is left to say goes into a JSON-RPC error."""
    import msgspec  # a rare answer

    from sandbox_agent.http import problems

    problem = msgspec.Raw(problems.encode(error))
    body = {
        "jsonrpc": "2.0",
        "id": msgspec.Raw(raw_id),
        "error": {"code": -32603, "message": error.detail, "data": problem},
    }
    return msgspec.json.encode(body)


class EarlyHeaders:
    """Sends headers and blanks for the replies that wait too long: one timer for all of them."""

    def __init__(self, after_s: float, interval_s: float) -> None:
        self._after_s = after_s
        self._interval_s = interval_s
        self._due: dict[Waiting, float] = {}
        self._timer: loops.Timer | None = None
        self._now: Callable[[], float] = lambda: 0.0

    def add(self, waiting: Waiting) -> None:
        if self._timer is None:
            loop = loops.running_loop()
            self._now = loop.time
            self._timer = loop.call_later(self._after_s, self._send)
        self._due[waiting] = self._now() + self._after_s

    def discard(self, waiting: Waiting) -> None:
        self._due.pop(waiting, None)

    def _send(self) -> None:
        loop = loops.running_loop()
        now = loop.time()
        for waiting, due in list(self._due.items()):
            if due <= now:
                self._due[waiting] = now + self._interval_s
                waiting.keep_alive()
        self._timer = None
        if self._due:
            self._timer = loop.call_at(min(self._due.values()), self._send)
