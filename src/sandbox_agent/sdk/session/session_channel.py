"""The messages of a session to and from the agent, recorded as they pass.

A channel outlives the agent processes behind it: it is bound to one, loses it, and is bound to the
next. It keeps the order and the record; prompts and restoring are handled elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
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
from sandbox_agent.sdk.session.agent_instance import AgentInstance
from sandbox_agent.sdk.session.config.reported_state import reported_by_update, reported_options
from sandbox_agent.sdk.session.history.recorder import Recorder, last_number, stream_key_prefix
from sandbox_agent.sdk.session.history.store_writer import StoreWriter
from sandbox_agent.sdk.session.instance_pool import InstancePool, instance_facts
from sandbox_agent.sdk.session.leftover_prompts import LeftoverPrompts
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.pending_requests import PendingRequests
from sandbox_agent.sdk.session.permissions.tool_hooks import ToolHooks
from sandbox_agent.sdk.session.skills.session_skills import SessionSkills
from sandbox_agent.sdk.session.stored_record import StoredRecord
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.tools.session_tools import SessionTools
from sandbox_agent.sdk.transport.initialize import session_params
from sandbox_agent.sdk.transport.stream_reader import Gap
from sandbox_agent.sdk.universal import UniversalMapper, meta, notes

log = logging.getLogger("sandbox_agent")

BINDING_METHODS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
CORRELATED_METHODS = BINDING_METHODS | {"session/prompt"}
"""The requests that name their connection in `_meta`."""
# An extension that Claude and Codex share.
STEER_METHOD = "_session/steering"
# How long the rejection of a tool waits until the agent has its reason.
EXPLAIN_S = 5.0
NO_ANSWER = PROBLEM_PREFIX + "connection_lost"
# How long a result waits for a store that fails.
SETTLE_S = 2.0
HISTORY_UPDATES = frozenset(
    {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"}
)


class SessionChannel:
    """One session, its record, and the instance it currently runs in."""

    def __init__(
        self,
        pool: InstancePool,
        record: SessionRecord,
        handlers: Handlers,
        mapper: UniversalMapper | None = None,
        *,
        include_raw: bool = False,
    ) -> None:
        """`mapper` has seen the history of a stored session."""
        self.pool = pool
        self.mapper = mapper or UniversalMapper(
            record.id,
            agent=record.agent,
            native_session_id=record.agent_session_id or None,
            include_raw=include_raw,
        )
        self.writer = StoreWriter(pool.store, record.id, pool.store_patience_s)
        self.recorder = Recorder(record.id, self.mapper, self.writer)
        self._stored = StoredRecord(pool.store, record, self.writer)
        self.hooks = ToolHooks(handlers, failed=self.callback_failed, cancel=self._cancel_turn)
        self.recorder.watch(self.hooks.take)
        self.requests = PendingRequests(
            record.id,
            self.mapper,
            handlers,
            send=self.respond,
            watched=lambda: self.watchers > 0,
            failed=self.callback_failed,
            before_tool=self.hooks.decide,
            explain=self._explain,
            takes_changed_input=lambda: self.instance is not None and self.instance.takes_changed_input,
        )
        self.skills = SessionSkills(pool, record.id, record.agent, record.session_init or {})
        self.tools = SessionTools(pool.api, record.id)
        self.instance: AgentInstance | None = None
        self.watchers = 0
        self.loading = False
        """The agent is replaying its history, which is already stored."""
        self.repeating = False
        """The agent may repeat its history after it has restored the session."""
        self.repeated = 0
        """How many repeated updates were dropped."""
        self.callback_error: SandboxAgentError | None = None
        self._stored_number = 0
        """Events of the present instance up to this number are stored."""
        self.open_calls: set[str] = set()
        """Requests sent before a restart of this client that have no answer in the store."""
        self.leftovers = LeftoverPrompts()
        self.holding = False
        """Messages of the stream are queued while missed events are read again."""
        self._held: list[tuple[Envelope, int | None]] = []
        self._key_source: tuple[str, int | None] = ("", None)
        self._key_prefix = ""
        self._binding: dict[str, str | None] = {}

    # -- binding --------------------------------------------------------------------------------------

    @property
    def live(self) -> bool:
        """Whether the session has a live agent process."""
        return self.instance is not None and self.instance.lost is None

    @property
    def native_id(self) -> str:
        return self.record.agent_session_id

    def enter(self, instance: AgentInstance) -> None:
        """Use this instance from now on; the agent's session id follows with `bind`."""
        self.instance = instance
        self.recorder.ended = False
        self.leftovers.clear()
        self.recorder.connection_id = instance.server_id

    def bind(self, native_id: str) -> None:
        """Set the agent's id of the session."""
        instance = self._need_instance()
        self.change(agent_session_id=native_id, **instance_facts(instance))
        instance.bind(native_id, self)

    async def leave(self, *, restoring: bool = False) -> None:
        """Release the instance; `restoring` keeps the id of a dead process for its successor."""
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.release(self)
            await self.pool.release(instance, restoring=restoring)

    # -- outgoing -------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_s: float | None = None,
        respond_async: bool = False,
    ) -> Any:
        """Send a request; it is recorded once the agent has it."""
        instance = self._need_instance()
        call_id = instance.connection.new_id()
        stored = self._outgoing(instance, method, params, ticket=False)
        params = self._outgoing(instance, method, params)
        envelope: Envelope = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": stored}
        recorded = recorded_late = False

        def accepted() -> None:
            nonlocal recorded, recorded_late
            recorded, recorded_late = True, self.mapper.ended
            self.recorder.add(envelope, "client")

        instance.own(call_id, self)
        if method in BINDING_METHODS:
            # The answer to `session/fork` has the id of the copy.
            self._binding[call_id] = None if method == "session/fork" else params.get("sessionId")
        try:
            return await instance.connection.request(
                method,
                params,
                call_id=call_id,
                timeout_s=timeout_s,
                respond_async=respond_async,
                on_accepted=accepted,
            )
        except AgentExitedError as error:
            instance.disown(call_id)
            if recorded_late:  # after the end of the session, which therefore did not end this turn
                self._note_failure(call_id, error, open_call=True)
            raise
        except APITimeoutError:
            raise
        except (APIStatusError, APIConnectionError) as error:
            if recorded and method == "session/prompt" and isinstance(error, APIConnectionError):
                self.leftovers.add(call_id)
            elif isinstance(error, APIConnectionError) or not recorded:
                instance.disown(call_id)
            if not self.mapper.ended:  # the end of the session has told it, and ended the turn
                self._note_failure(call_id, error, open_call=recorded)
            raise

    def _outgoing(
        self, instance: AgentInstance, method: str, params: Mapping[str, Any], *, ticket: bool = True
    ) -> dict[str, Any]:
        """The parameters as the agent gets them; as they are stored without the ticket of the tools."""
        if method in BINDING_METHODS:
            params = self.tools.with_server(params, ticket=ticket)
            params = session_params(params) if instance.is_v2 else params
        if method in CORRELATED_METHODS:
            params = meta.with_connection(params, instance.server_id)
        return dict(params)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification and record it."""
        instance = self._need_instance()
        envelope: Envelope = {"jsonrpc": "2.0", "method": method, "params": dict(params)}
        self.recorder.add(envelope, "client")
        await instance.connection.notify(method, params)

    async def respond(self, envelope: Envelope) -> None:
        """Answer the agent: readers see the answer at once, the store gets it when the server has it."""
        instance = self._need_instance()
        sent: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.recorder.add(envelope, "client", held_by=sent)
        instance.answered(envelope.get("id"))
        try:
            await instance.connection.respond(envelope)
        finally:
            if not sent.done():
                sent.set_result(None)

    async def steer(self, blocks: list[dict[str, Any]]) -> Any:
        """Give the running turn another message; returns the agent's word on what became of it."""
        # Without `promptRequired` the agent would start a turn of its own after the end of this one.
        wish = {"steering": {"idleBehavior": "promptRequired"}}
        params = {"sessionId": self.native_id, "prompt": blocks, "_meta": wish}
        result = await self.request(STEER_METHOD, params)
        return result.get("outcome") if isinstance(result, Mapping) else None

    async def _explain(self, reason: str) -> None:
        """Tell the agent why a tool was denied, if it can be steered: ACP has no field for it."""
        if self.instance is not None and self.instance.can_steer and self.mapper.open_turn_ids:
            text = f"The tool call is rejected: {reason}"
            try:
                async with asyncio.timeout(EXPLAIN_S):
                    await self.steer([{"type": "text", "text": text}])
            except (SandboxAgentError, TimeoutError) as error:
                log.debug("the agent was not told why a tool was denied: %s", error)

    async def _cancel_turn(self) -> None:
        if self.live:
            await self.notify("session/cancel", {"sessionId": self.native_id})
            await self.requests.cancel_all()

    def note(self, envelope: Envelope) -> None:
        """Record a message of the SDK itself, about something no ACP message says."""
        self.recorder.add(envelope, "client")

    def _note_failure(self, call_id: str, error: SandboxAgentError, *, open_call: bool) -> None:
        if isinstance(error, APIStatusError):
            self.note(
                notes.failure(str(error), error.error_type or str(error.status_code), error.problem or None)
            )
        elif open_call:
            # No answer can arrive any more: record an error answer, so that the turn ends in the history.
            problem = {"type": NO_ANSWER, "title": "Connection Lost", "detail": str(error)}
            failure = {"code": INTERNAL_ERROR, "message": str(error), "data": problem}
            self.recorder.add({"jsonrpc": "2.0", "id": call_id, "error": failure}, "agent")
        else:
            self.note(notes.failure(str(error), "connection_failed"))

    # -- incoming -------------------------------------------------------------------------------------

    def agent_message(self, envelope: Envelope, event_id: int | None) -> None:
        """Take in a message of the agent, in stream order."""
        method = envelope.get("method")
        if self.holding:
            self._held.append((envelope, event_id))
            return
        if method is None and self.leftovers.answered(str(envelope.get("id"))):
            return
        if method == "session/update" and (self.loading or (self.repeating and _is_history(envelope))):
            self.repeated += 1
            return
        key = self._key(event_id)
        if event_id is not None and event_id <= self._stored_number:
            return
        self.recorder.add(envelope, "agent", event_id=event_id, key=key)
        if method is None:
            self._answered(envelope)
        elif "id" in envelope:
            self.requests.asked(envelope)
        elif method == "$/cancel_request":
            self.requests.withdrawn((envelope.get("params") or {}).get("requestId"))
        elif method == "session/update":
            self._note(reported_by_update(self.record, (envelope.get("params") or {}).get("update")))

    async def leftovers_go_on(self) -> bool:
        """Whether the agent may still work on a prompt that failed here; the stream is read up to its end."""
        pending = await self._need_instance().connection.pending_requests()
        if pending == 0:
            self.leftovers.clear()
        return bool(pending and self.leftovers)

    def deliver_held(self) -> None:
        """Take in the messages queued behind the missed events."""
        held, self._held = self._held, []
        for envelope, event_id in held:
            self.agent_message(envelope, event_id)

    async def remember(self, index: int) -> None:
        """Take over the stored history, whose last message has this index, after a restart of this client."""
        self.recorder.continue_after(index)
        self.open_calls = {str(call_id) for call_id in self.mapper.open_call_ids}
        record = self.record
        if record.server_id is not None:
            prefix = stream_key_prefix(record.server_id, record.server_created_at, record.id)
            self._stored_number = await last_number(self.pool.store, record, prefix)

    def events_lost(self, gap: Gap) -> None:
        """Record a gap of the stream where the lost events would have been."""
        self.note(notes.stream_gap(gap.last + 1, gap.newest))

    def instance_lost(self, error: SandboxAgentError) -> None:
        """Record that the agent process, or the connection to it, is gone."""
        self.loading = False
        if self.mapper.ended:
            return
        if isinstance(error, AgentExitedError) and not error.vanished:
            self.note(
                notes.agent_exited(
                    error.exit_code == 0, error.exit_code, signal=error.signal, stderr=error.stderr or None
                )
            )
        else:
            self.note(notes.session_ended("error", "daemon", message=str(error)))

    def callback_failed(self, error: SandboxAgentError) -> None:
        """Keep the error of a callback for the running prompt to raise."""
        if not isinstance(error, AgentExitedError):
            self.callback_error = self.callback_error or error

    def _answered(self, envelope: Envelope) -> None:
        call_id = str(envelope.get("id"))
        if call_id not in self._binding:
            return
        asked_for = self._binding.pop(call_id)
        self.loading = False
        result = envelope.get("result")
        if isinstance(result, Mapping):
            native_id = asked_for or result.get("sessionId")
            if isinstance(native_id, str):
                self.bind(native_id)
            self.note_options(result)

    def note_options(self, holder: Any) -> None:
        """Keep the options and modes in an answer or update of the agent."""
        self._note(reported_options(self.record, holder))

    def _note(self, changes: dict[str, Any]) -> None:
        if changes:
            self.change(**changes)

    # -- the stored record ------------------------------------------------------------------------------

    @property
    def record(self) -> SessionRecord:
        return self._stored.record

    def change(self, **changes: Any) -> None:
        """Change fields of the record: here at once, in the store by a background task."""
        self._stored.change(**changes)

    async def begin(self) -> None:
        """Store the record and start to write events."""
        await self._stored.begin()

    async def refresh(self) -> None:
        """Take over changes by other clients of the store; a live session keeps its instance."""
        await self._stored.refresh(shared_only=self.live)

    async def flush(self) -> None:
        """Wait until record and events are stored; raises if the store fails for too long."""
        await self.writer.flush()

    async def settle(self) -> None:
        """Wait until record and events are stored, but not for a store that fails: it gets them later."""
        try:
            await self.writer.flush(min(SETTLE_S, self.pool.store_patience_s))
        except Exception as error:
            log.debug("session %s goes on without its store: %s", self.record.id, error)

    def _key(self, event_id: int | None) -> str | None:
        if event_id is None:
            return None
        instance = self._need_instance()
        source = (instance.server_id, instance.created_at_ms)
        if source != self._key_source:
            if source != (self.record.server_id, self.record.server_created_at):
                self._stored_number = 0
            self._key_source, self._key_prefix = source, stream_key_prefix(*source, self.record.id)
        return f"{self._key_prefix}{event_id}"

    def _need_instance(self) -> AgentInstance:
        if self.instance is None:
            raise APIConnectionError(f"session {self.record.id!r} is not connected")
        return self.instance


def _is_history(envelope: Envelope) -> bool:
    update = (envelope.get("params") or {}).get("update")
    return isinstance(update, Mapping) and update.get("sessionUpdate") in HISTORY_UPDATES
