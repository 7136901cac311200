"""Requests that wait for their answer.

A call is accepted once it is known to have reached the agent (an answer, some output, or 0.5 s without a
refusal), and settled exactly once: with the agent's answer or with a typed error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.errors import AgentExitedError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.response_errors import rpc_error


class PendingCall:
    """One request in flight."""

    def __init__(self, call_id: str, method: str, on_accepted: Callable[[], None] | None) -> None:
        self.id = call_id
        self.method = method
        self.accepted = False
        self.unsent = False
        """The message was certainly not sent: the server refused the connection, and a retry follows."""
        loop = asyncio.get_running_loop()
        self.began = loop.time()
        self.future: asyncio.Future[Any] = loop.create_future()
        # The caller may be gone when the call fails; its error is then of no interest.
        self.future.add_done_callback(_retrieve_exception)
        self._on_accepted = on_accepted

    @property
    def settled(self) -> bool:
        return self.future.done()

    def accept(self) -> None:
        """The agent has the message: call `on_accepted`, once, and never after the call has failed."""
        if not self.accepted and not self.unsent and not self.settled:
            self.accepted = True
            if self._on_accepted is not None:
                self._on_accepted()

    def answer(self, envelope: Envelope) -> None:
        """Settle with the agent's answer."""
        self.accept()
        if self.future.done():
            return
        if "error" in envelope:
            self.future.set_exception(rpc_error(envelope["error"], method=self.method))
        else:
            self.future.set_result(envelope.get("result"))

    def lose(self, error: SandboxAgentError) -> None:
        """Settle with the end of the agent; the error says whether the message was never sent."""
        if self.settled:
            return
        if self.unsent and isinstance(error, AgentExitedError):
            error = error.before_delivery()
        self.accept()
        self.fail(error)

    def fail(self, error: SandboxAgentError) -> None:
        """Settle with an error."""
        if not self.future.done():
            self.future.set_exception(error.again())


def _retrieve_exception(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
