"""The requests of one connection that wait for their answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from sandbox_agent.sdk.errors import AgentExitedError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall

# How long a call waits for its 502 with stderr after the stream reported the end of the agent.
EXIT_DETAILS_S = 0.75
# How long a call waits for the outcome of its POST after the server said that it has no such instance.
VANISHED_S = 5.0


class PendingCalls:
    """Pending calls by their id."""

    def __init__(self) -> None:
        self._calls: dict[str, PendingCall] = {}
        self._answered_by_body: set[str] = set()

    def __iter__(self) -> Iterator[PendingCall]:
        return iter(list(self._calls.values()))

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, call: PendingCall) -> None:
        """The call is about to be sent."""
        self._calls[call.id] = call

    def discard(self, call: PendingCall) -> None:
        """Its caller no longer waits."""
        self._calls.pop(call.id, None)

    def accept_all(self) -> None:
        """The agent has said something, so it has every message sent before."""
        for call in self:
            call.accept()

    def answer(self, envelope: Envelope) -> None:
        """Settle the call that this message answers, if one waits for it."""
        identity = envelope.get("id")
        call = self._calls.get(identity) if isinstance(identity, str) else None
        if call is not None:
            call.answer(envelope)

    def expect_copy(self, call: PendingCall) -> None:
        """The answer came in the body of the `POST`; its copy on the stream is then not wanted."""
        self._answered_by_body.add(call.id)

    def is_copy(self, envelope: Envelope) -> bool:
        """Whether a message of the stream is the copy of an answer that a body has brought."""
        if "method" in envelope or envelope.get("id") not in self._answered_by_body:
            return False
        self._answered_by_body.discard(envelope["id"])
        return True

    def lose_all(self, error: SandboxAgentError) -> None:
        """The agent is gone: fail every call, those on their way once their POST has had its say."""
        for call in self:
            if call.accepted or call.unsent:
                call.lose(error)
            else:
                vanished = isinstance(error, AgentExitedError) and error.vanished
                limit_s = VANISHED_S if vanished else EXIT_DETAILS_S
                asyncio.get_running_loop().call_later(limit_s, call.lose, error)

    def fail_all(self, error: SandboxAgentError) -> None:
        """Fail every call."""
        for call in self:
            call.fail(error)
