"""Requests that wait for their answer.

A call is accepted once it is known to have reached the agent (some answer, some output, or a moment
without a refusal), and settled exactly once: with the agent's answer or with a typed error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.errors import AgentExitedError, SandboxAgentError, rpc_error
from sandbox_agent.sdk.json_rpc import Envelope


class PendingCall:
    """One request in flight."""

    def __init__(self, call_id: str, method: str, on_accepted: Callable[[], None] | None) -> None:
        self.id = call_id
        self.method = method
        self.accepted = False
        self.unsent = False
        """Its message certainly has not left: the server refused the connection, and it is tried again."""
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        # A call whose caller went away may still be settled; nobody has to look at that error.
        self.future.add_done_callback(_look)
        self._on_accepted = on_accepted

    @property
    def settled(self) -> bool:
        return self.future.done()

    def accept(self) -> None:
        """The agent has the message: tell whoever wants to know, once."""
        if not self.accepted and not self.unsent:
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
        """Settle with the end of the agent; a message that never left says so."""
        if self.unsent and isinstance(error, AgentExitedError):
            error = error.before_delivery()
        self.accept()
        self.fail(error)

    def fail(self, error: SandboxAgentError) -> None:
        """Settle with an error."""
        if not self.future.done():
            self.future.set_exception(error)


def _look(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
