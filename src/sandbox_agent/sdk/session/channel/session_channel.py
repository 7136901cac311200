"""What a session consists of on this client: its record, its agent, its messages and its requests.

A channel outlives the agent processes behind it. Prompts and restoring are handled elsewhere.
"""

from __future__ import annotations

import logging
from typing import Any

from sandbox_agent.sdk.errors import AgentExitedError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.channel.incoming_messages import IncomingMessages
from sandbox_agent.sdk.session.channel.instance_binding import InstanceBinding
from sandbox_agent.sdk.session.channel.outgoing_messages import OutgoingMessages
from sandbox_agent.sdk.session.channel.stored_record import StoredRecord
from sandbox_agent.sdk.session.history.recorder import Recorder
from sandbox_agent.sdk.session.history.store_writer import StoreWriter
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.session.instances.instance_pool import InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.pending_requests import PendingRequests
from sandbox_agent.sdk.session.permissions.tool_hooks import ToolHooks
from sandbox_agent.sdk.session.skills.session_skills import SessionSkills
from sandbox_agent.sdk.session.turns.steering import Steering
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.tools.session_tools import SessionTools
from sandbox_agent.sdk.transport.streams.stream_reader import Gap
from sandbox_agent.sdk.universal import UniversalMapper, notes

log = logging.getLogger("sandbox_agent")

# How long a result waits for a store that fails.
SETTLE_S = 2.0


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
        self.skills = SessionSkills(pool, record.id, record.agent, record.session_init or {})
        self.tools = SessionTools(pool.api, record.id)
        self.watchers = 0
        self.callback_error: SandboxAgentError | None = None
        self._stored = StoredRecord(pool.store, record, self.writer)
        self.binding = InstanceBinding(pool, self._stored, self.recorder, self)
        self.outgoing = OutgoingMessages(self.binding, self.recorder, self.tools, self)
        self.steering = Steering(self.binding, self.outgoing, self.mapper)
        self.hooks = ToolHooks(handlers, failed=self.callback_failed, cancel=self.cancel_turn)
        self.recorder.watch(self.hooks.take)
        self.requests = PendingRequests(
            record.id,
            self.mapper,
            handlers,
            send=self.outgoing.respond,
            watched=lambda: self.watchers > 0,
            failed=self.callback_failed,
            before_tool=self.hooks.decide,
            explain=self.steering.explain,
            takes_changed_input=lambda: self.instance is not None and self.instance.takes_changed_input,
        )
        self.incoming = IncomingMessages(self.binding, self.recorder, self.requests, self._stored)

    # -- the agent ------------------------------------------------------------------------------------

    @property
    def instance(self) -> AgentInstance | None:
        """The agent process, alive or not."""
        return self.binding.instance

    @property
    def live(self) -> bool:
        """Whether the session has a live agent process."""
        return self.binding.live

    @property
    def native_id(self) -> str:
        """The agent's id of the session; empty before there is one."""
        return self.binding.native_id

    async def remember(self, index: int) -> None:
        """Take over the stored history, whose last message has this index, after a restart of this client."""
        await self.binding.remember(index, {str(call_id) for call_id in self.mapper.open_call_ids})

    async def cancel_turn(self) -> None:
        """Tell the agent to stop, and answer its requests as cancelled."""
        if self.live:
            await self.outgoing.notify("session/cancel", {"sessionId": self.native_id})
            await self.requests.cancel_all()

    def note(self, envelope: Envelope) -> None:
        """Record a message of the SDK itself, about something no ACP message says."""
        self.recorder.add(envelope, "client")

    def callback_failed(self, error: SandboxAgentError) -> None:
        """Keep the error of a callback for the running prompt to raise."""
        if not isinstance(error, AgentExitedError):
            self.callback_error = self.callback_error or error

    # -- called by the instance -----------------------------------------------------------------------

    def agent_message(self, envelope: Envelope, event_id: int | None) -> None:
        """Take in a message of the agent, in stream order."""
        self.incoming.take(envelope, event_id)

    def events_lost(self, gap: Gap) -> None:
        """Record a gap of the stream where the lost events would have been."""
        self.note(notes.stream_gap(gap.last + 1, gap.newest))

    def instance_lost(self, error: SandboxAgentError) -> None:
        """Record that the agent process, or the connection to it, is gone."""
        self.incoming.loading = False
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

    # -- the stored record ------------------------------------------------------------------------------

    @property
    def record(self) -> SessionRecord:
        """The record as this client knows it."""
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
