"""The messages of a session to and from the agent, recorded as they pass.

A channel outlives the agent processes behind it: it is bound to one, loses it, and is bound to the
next. It keeps the order and the record; prompts and restoring are handled elsewhere.
"""

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
from sandbox_agent.sdk.session.agent_instance import AgentInstance
from sandbox_agent.sdk.session.config.config_options import with_current_mode
from sandbox_agent.sdk.session.history.recorder import Recorder, stream_key
from sandbox_agent.sdk.session.instance_pool import InstancePool, instance_facts
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.pending_requests import PendingRequests
from sandbox_agent.sdk.session.skills.session_skills import SessionSkills
from sandbox_agent.sdk.session.stored_record import StoredRecord
from sandbox_agent.sdk.stores import EventRecord, SessionRecord
from sandbox_agent.sdk.transport.stream_reader import Gap
from sandbox_agent.sdk.universal import UniversalMapper, notes

BINDING_METHODS = frozenset({"session/new", "session/load", "session/resume"})
NO_ANSWER = PROBLEM_PREFIX + "connection_lost"


class SessionChannel:
    """One session, its record, and the instance it currently runs in."""

    def __init__(self, pool: InstancePool, record: SessionRecord, handlers: Handlers) -> None:
        self.pool = pool
        self.mapper = UniversalMapper(
            record.id, agent=record.agent, native_session_id=record.agent_session_id or None
        )
        self.recorder = Recorder(pool.store, record.id, self.mapper)
        self._stored = StoredRecord(pool.store, record, self.recorder)
        self.requests = PendingRequests(
            record.id,
            self.mapper,
            handlers,
            send=self.respond,
            watched=lambda: self.watchers > 0,
            failed=self.callback_failed,
        )
        self.skills = SessionSkills(pool, record.id, record.agent, record.session_init or {})
        self.instance: AgentInstance | None = None
        self.watchers = 0
        self.loading = False
        """The agent is replaying its history, which is already stored."""
        self.callback_error: SandboxAgentError | None = None
        self.stored_keys: set[str] = set()
        self.open_calls: set[str] = set()
        """Requests sent before a restart of this client that have no answer in the store."""
        self.holding = False
        """Messages of the stream are queued while missed events are read again."""
        self._held: list[tuple[Envelope, int | None]] = []
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
        self.recorder.connection_id = instance.server_id

    def bind(self, native_id: str) -> None:
        """Set the agent's id of the session."""
        instance = self._need_instance()
        self.change(agent_session_id=native_id, **instance_facts(instance))
        instance.bind(native_id, self)

    async def leave(self) -> None:
        """Release the instance."""
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.release(self)
            await self.pool.release(instance)

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
        envelope: Envelope = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)}
        recorded = False

        def accepted() -> None:
            nonlocal recorded
            recorded = True
            self.recorder.add(envelope, "client")

        instance.own(call_id, self)
        if method in BINDING_METHODS:
            self._binding[call_id] = params.get("sessionId")
        try:
            return await instance.connection.request(
                method,
                params,
                call_id=call_id,
                timeout_s=timeout_s,
                respond_async=respond_async,
                on_accepted=accepted,
            )
        except AgentExitedError:
            instance.disown(call_id)
            raise
        except APITimeoutError:
            raise
        except (APIStatusError, APIConnectionError) as error:
            if isinstance(error, APIConnectionError) or not recorded:
                instance.disown(call_id)
            self._note_failure(call_id, error, open_call=recorded)
            raise

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
        if self.loading and method == "session/update":
            return
        key = self._key(event_id)
        if key is not None and key in self.stored_keys:
            return
        self.recorder.add(envelope, "agent", event_id=event_id, key=key)
        if method is None:
            self._answered(envelope)
        elif "id" in envelope:
            self.requests.asked(envelope)
        elif method == "$/cancel_request":
            self.requests.withdrawn((envelope.get("params") or {}).get("requestId"))
        elif method == "session/update":
            self._note_state((envelope.get("params") or {}).get("update"))

    def deliver_held(self) -> None:
        """Take in the messages queued behind the missed events."""
        held, self._held = self._held, []
        for envelope, event_id in held:
            self.agent_message(envelope, event_id)

    def remember(self, history: list[EventRecord]) -> None:
        """Take over the stored history after a restart of this client."""
        self.stored_keys = {record.id for record in history}
        self.recorder.count = history[-1].event_index if history else 0
        for record in history:
            payload = record.payload
            if record.sender == "client" and "method" in payload and "id" in payload:
                self.open_calls.add(str(payload["id"]))
            elif record.sender == "agent" and "method" not in payload:
                self.open_calls.discard(str(payload.get("id")))

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

    def _note_state(self, update: Any) -> None:
        if not isinstance(update, Mapping):
            return
        kind = update.get("sessionUpdate")
        if kind == "config_option_update":
            self.note_options(update)
        elif kind == "current_mode_update" and isinstance(mode := update.get("currentModeId"), str):
            self.change(modes=with_current_mode(self.record.modes, mode))
        elif kind == "session_info_update" and isinstance(title := update.get("title"), str):
            self.change(title=self.record.title or title)

    def note_options(self, holder: Any) -> None:
        """Keep the options and modes in an answer or update of the agent."""
        if not isinstance(holder, Mapping):
            return
        if isinstance(options := holder.get("configOptions"), list):
            self.change(config_options=options)
        if isinstance(modes := holder.get("modes"), Mapping):
            self.change(modes=dict(modes))

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
        """Wait until record and events are stored."""
        await self._stored.flush()

    def _key(self, event_id: int | None) -> str | None:
        if event_id is None:
            return None
        instance = self._need_instance()
        return stream_key(instance.server_id, instance.created_at_ms, self.record.id, event_id)

    def _need_instance(self) -> AgentInstance:
        if self.instance is None:
            raise APIConnectionError(f"session {self.record.id!r} is not connected")
        return self.instance
