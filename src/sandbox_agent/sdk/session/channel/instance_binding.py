"""Which agent process a session runs in, and how much of that process' stream is stored.

A session outlives agent processes. It is bound to one at a time; when that ends, it is bound to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import APIConnectionError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.channel.leftover_prompts import LeftoverPrompts
from sandbox_agent.sdk.session.channel.stored_record import StoredRecord
from sandbox_agent.sdk.session.history.recorder import Recorder, last_number, stream_key_prefix
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance, SessionPort
from sandbox_agent.sdk.session.instances.instance_pool import InstancePool, instance_facts
from sandbox_agent.sdk.stores import SessionRecord

BINDING_METHODS = frozenset({"session/new", "session/load", "session/resume", "session/fork"})
"""The requests whose answer gives the session its id in the agent."""


class InstanceBinding:
    """The instance of one session; `port` is what the instance gives the session's messages to."""

    def __init__(
        self, pool: InstancePool, stored: StoredRecord, recorder: Recorder, port: SessionPort
    ) -> None:
        self.instance: AgentInstance | None = None
        self.open_calls: set[str] = set()
        """Requests sent before a restart of this client that have no answer in the store."""
        self.leftovers = LeftoverPrompts()
        self._pool = pool
        self._stored = stored
        self._recorder = recorder
        self._port = port
        self._stored_number = 0
        """Events of the present instance up to this number are stored."""
        self._key_source: tuple[str, int | None] = ("", None)
        self._key_prefix = ""
        self._expected: dict[str, str | None] = {}
        """Binding requests without an answer, and the id they ask for."""

    @property
    def record(self) -> SessionRecord:
        return self._stored.record

    @property
    def live(self) -> bool:
        """Whether the session has a live agent process."""
        return self.instance is not None and self.instance.lost is None

    @property
    def native_id(self) -> str:
        return self.record.agent_session_id

    def need(self) -> AgentInstance:
        """The instance; raises if there is none."""
        if self.instance is None:
            raise APIConnectionError(f"session {self.record.id!r} is not connected")
        return self.instance

    def enter(self, instance: AgentInstance) -> None:
        """Use this instance from now on; the agent's session id follows with `bind`."""
        self.instance = instance
        self._recorder.ended = False
        self.leftovers.clear()
        self._recorder.connection_id = instance.server_id

    def expect(self, call_id: str, method: str, params: Mapping[str, Any]) -> None:
        """The answer to this request binds the session, if it is a request that does."""
        if method in BINDING_METHODS:
            # The answer to `session/fork` has the id of the copy.
            self._expected[call_id] = None if method == "session/fork" else params.get("sessionId")

    def bound_by(self, answer: Envelope) -> bool:
        """Bind the session if this is the answer to a binding request; returns whether it is one."""
        call_id = str(answer.get("id"))
        if call_id not in self._expected:
            return False
        asked_for = self._expected.pop(call_id)
        result = answer.get("result")
        if isinstance(result, Mapping):
            native_id = asked_for or result.get("sessionId")
            if isinstance(native_id, str):
                self.bind(native_id)
        return True

    def bind(self, native_id: str) -> None:
        """Set the agent's id of the session."""
        instance = self.need()
        self._stored.change(agent_session_id=native_id, **instance_facts(instance))
        instance.bind(native_id, self._port)

    async def leave(self, *, restoring: bool = False) -> None:
        """Release the instance; `restoring` keeps the id of a dead process for its successor."""
        instance, self.instance = self.instance, None
        if instance is not None:
            instance.release(self._port)
            await self._pool.release(instance, restoring=restoring)

    async def remember(self, index: int, open_calls: set[str]) -> None:
        """Take over the stored history, whose last message has this index, after a restart of this client."""
        self._recorder.continue_after(index)
        self.open_calls = open_calls
        record = self.record
        if record.server_id is not None:
            prefix = stream_key_prefix(record.server_id, record.server_created_at, record.id)
            self._stored_number = await last_number(self._pool.store, record, prefix)

    async def leftovers_go_on(self) -> bool:
        """Whether the agent may still work on a prompt that failed here; the stream is read up to its end."""
        pending = await self.need().connection.pending_requests()
        if pending == 0:
            self.leftovers.clear()
        return bool(pending and self.leftovers)

    def stream_key(self, event_id: int | None) -> str | None:
        """The id that the store has for an event of the present instance."""
        if event_id is None:
            return None
        instance, record = self.need(), self.record
        source = (instance.server_id, instance.created_at_ms)
        if source != self._key_source:
            if source != (record.server_id, record.server_created_at):
                self._stored_number = 0
            self._key_source, self._key_prefix = source, stream_key_prefix(*source, record.id)
        return f"{self._key_prefix}{event_id}"

    def is_stored(self, event_id: int | None) -> bool:
        """Whether the store has this event of the present instance."""
        return event_id is not None and event_id <= self._stored_number
