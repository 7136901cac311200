"""Where the answer to a POST goes: what every kind of reply has in common.

A reply that waits for its agent is `settle`d once, and held open by `EarlyHeaders` when that takes long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import SandboxAgentError

if TYPE_CHECKING:
    from sandbox_agent.bridge.pending_calls import Answer
    from sandbox_agent.http.acp.early_headers import EarlyHeaders


class Reply:
    """Subclasses say how the answer is sent; their methods do nothing once the client has left."""

    raw_id = b""
    """The id of the request, as it was spelled."""
    settled = False
    announced = False
    watched_by: EarlyHeaders | None = None

    if TYPE_CHECKING:

        def answer(self, body: bytes) -> None:
            """200 with this JSON body, or the body alone when the header has gone out already."""

        def accept(self) -> None:
            """202 without a body."""

        def refuse(self, error: SandboxAgentError) -> None:
            """The problem document; never after `announce`."""

        def announce(self) -> None:
            """Send the header of a 200 before there is a body."""

        def blank(self) -> None:
            """After `announce`: a blank, so that nobody on the way believes the connection dead."""

    def settle(self, answer: Answer) -> None:
        """The agent has answered, or will not."""
        self.settled = True
        if self.watched_by is not None:
            self.watched_by.due.pop(self, None)
        if not isinstance(answer, SandboxAgentError):
            self.answer(answer)
        elif self.announced:
            self.answer(_as_json_rpc(self.raw_id, answer))
        else:
            self.refuse(answer)

    def settle_forwarded(self, answer: Answer) -> None:
        """The same for a message that has no answer of its own: the agent has it, or will not get it."""
        if isinstance(answer, SandboxAgentError):
            self.refuse(answer)
        else:
            self.accept()

    def hold_open(self) -> None:
        if self.announced:
            self.blank()
        else:
            self.announced = True
            self.announce()


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
