"""What the stream of an instance brings: messages for the listener, answers for the calls that wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sandbox_agent.sdk.errors import AgentExitedError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.small_event import SmallEvent
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall
from sandbox_agent.sdk.transport.calls.pending_calls import EXIT_DETAILS_S, PendingCalls
from sandbox_agent.sdk.transport.streams.stream_reader import Gap

log = logging.getLogger("sandbox_agent")


class Listener(Protocol):
    """Receives the messages of an agent, in stream order, never concurrently."""

    def message_received(self, envelope: Envelope, event_id: int | None) -> None: ...
    def events_lost(self, gap: Gap) -> None: ...
    def instance_lost(self, error: SandboxAgentError) -> None: ...


class StreamHandler:
    """Handles the stream of one connection; `lose` ends it, `dropped` is called when the stream broke."""

    def __init__(
        self,
        path: str,
        listener: Listener,
        calls: PendingCalls,
        *,
        lose: Callable[[SandboxAgentError], None],
        dropped: Callable[[], None],
    ) -> None:
        self.changed = SmallEvent()
        """Set when the stream broke or brought an answer, to ask for the status at once."""
        self._path = path
        self._listener = listener
        self._calls = calls
        self._lose = lose
        self._dropped = dropped

    def stream_message(self, envelope: Envelope, event_id: int) -> None:
        """Take in a message of the stream."""
        if self._calls.is_copy(envelope):
            return
        self._calls.accept_all()
        self._hand_on(envelope, event_id)
        if "method" not in envelope:
            self._calls.answer(envelope)
            self.changed.set()
        elif envelope.get("method") == "_adapter/agent_exited":
            self._agent_exited(envelope.get("params"))

    def answered_by_body(self, call: PendingCall, envelope: Envelope) -> None:
        """Settle a call with the body of its `POST`, because the stream did not bring the answer in time."""
        self._calls.expect_copy(call)
        self._hand_on(envelope, None)
        call.answer(envelope)

    def stream_gap(self, gap: Gap) -> None:
        """Report events that the server could not replay."""
        log.warning("%s: events %d to %d were lost", self._path, gap.first, gap.last)
        self._listener.events_lost(gap)

    def stream_dropped(self) -> None:
        """The stream broke and will be reopened."""
        self.changed.set()
        self._dropped()

    def stream_ended(self, error: SandboxAgentError) -> None:
        """The stream ended for good."""
        self._lose(error)

    def _hand_on(self, envelope: Envelope, event_id: int | None) -> None:
        try:
            self._listener.message_received(envelope, event_id)
        except Exception:
            # A message that cannot be handled must not stop those after it.
            log.exception("a message of %s could not be handled", self._path)

    def _agent_exited(self, params: Any) -> None:
        code = params.get("code") if isinstance(params, Mapping) else None
        error = AgentExitedError(
            "the agent process has ended", exit_code=code if isinstance(code, int) else None
        )
        if self._calls:
            asyncio.get_running_loop().call_later(EXIT_DETAILS_S, self._lose, error)
        else:
            self._lose(error)
