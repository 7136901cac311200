"""The messages of a session to its agent, recorded as they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from sandbox_agent.jsonrpc_error_codes import INTERNAL_ERROR
from sandbox_agent.sdk.errors import (
    PROBLEM_PREFIX,
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    SandboxAgentError,
)
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.channel.instance_binding import BINDING_METHODS, InstanceBinding
from sandbox_agent.sdk.session.history.recorder import Recorder
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance, SessionPort
from sandbox_agent.sdk.tools.session_tools import SessionTools
from sandbox_agent.sdk.transport.initialize import session_params
from sandbox_agent.sdk.universal import meta, notes

CORRELATED_METHODS = BINDING_METHODS | {"session/prompt"}
"""The requests that name their connection in `_meta`."""
NO_ANSWER = PROBLEM_PREFIX + "connection_lost"


class OutgoingMessages:
    """Sends the messages of one session; `port` gets the answers to its requests."""

    def __init__(
        self, binding: InstanceBinding, recorder: Recorder, tools: SessionTools, port: SessionPort
    ) -> None:
        self._binding = binding
        self._recorder = recorder
        self._mapper = recorder.mapper
        self._tools = tools
        self._port = port

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        respond_async: bool = False,
    ) -> Any:
        """Send a request; it is recorded once the agent has it."""
        instance = self._binding.need()
        call_id = instance.connection.new_id()
        stored = self._parameters(instance, method, params, ticket=False)
        params = self._parameters(instance, method, params)
        envelope: Envelope = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": stored}
        recorded = recorded_late = False

        def accepted() -> None:
            nonlocal recorded, recorded_late
            recorded, recorded_late = True, self._mapper.ended
            self._recorder.add(envelope, "client")

        instance.own(call_id, self._port)
        self._binding.expect(call_id, method, params)
        try:
            return await instance.connection.request(
                method,
                params,
                call_id=call_id,
                timeout_s=timeout_s,
                respond_async=respond_async,
                on_accepted=accepted,
            )
        except asyncio.CancelledError:
            # A prompt is stopped by `session/cancel` instead, which also ends its turn.
            if method != "session/prompt" and call_id in self._mapper.open_call_ids:
                self._recorder.add(instance.connection.cancel_request(call_id), "client")
            raise
        except AgentExitedError as error:
            instance.drop_call(call_id)
            if recorded_late:  # after the end of the session, which therefore did not end this turn
                self._note_failure(call_id, error, open_call=True)
            raise
        except APITimeoutError:
            raise
        except (APIStatusError, APIConnectionError) as error:
            if recorded and method == "session/prompt" and isinstance(error, APIConnectionError):
                self._binding.leftovers.add(call_id)
            elif isinstance(error, APIConnectionError) or not recorded:
                instance.drop_call(call_id)
            if not self._mapper.ended:  # the end of the session has told it, and ended the turn
                self._note_failure(call_id, error, open_call=recorded)
            raise

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification and record it."""
        instance = self._binding.need()
        envelope: Envelope = {"jsonrpc": "2.0", "method": method, "params": dict(params)}
        self._recorder.add(envelope, "client")
        await instance.connection.notify(method, params)

    async def respond(self, envelope: Envelope) -> None:
        """Answer the agent: readers see the answer at once, the store gets it when the server has it."""
        instance = self._binding.need()
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._recorder.add(envelope, "client", held_by=sent)
        instance.answered(envelope.get("id"))
        try:
            await instance.connection.respond(envelope)
        finally:
            if not sent.done():
                sent.set_result(None)

    def _parameters(
        self, instance: AgentInstance, method: str, params: Mapping[str, Any], *, ticket: bool = True
    ) -> dict[str, Any]:
        """The parameters as the agent gets them; as they are stored without the ticket of the tools."""
        if method in BINDING_METHODS:
            params = self._tools.with_server(params, ticket=ticket)
            params = session_params(params) if instance.is_v2 else params
        if method in CORRELATED_METHODS:
            params = meta.with_connection(params, instance.server_id)
        return dict(params)

    def _note_failure(self, call_id: str, error: SandboxAgentError, *, open_call: bool) -> None:
        if isinstance(error, APIStatusError):
            kind = error.error_type or str(error.status_code)
            self._recorder.add(notes.failure(str(error), kind, error.problem or None), "client")
        elif open_call:
            # No answer can arrive any more: record an error answer, so that the turn ends in the history.
            problem = {"type": NO_ANSWER, "title": "Connection Lost", "detail": str(error)}
            failure = {"code": INTERNAL_ERROR, "message": str(error), "data": problem}
            self._recorder.add({"jsonrpc": "2.0", "id": call_id, "error": failure}, "agent")
        else:
            self._recorder.add(notes.failure(str(error), "connection_failed"), "client")
