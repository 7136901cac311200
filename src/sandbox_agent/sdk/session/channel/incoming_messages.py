"""The messages of an agent for one session, recorded in stream order and each only once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.channel.instance_binding import InstanceBinding
from sandbox_agent.sdk.session.channel.stored_record import StoredRecord
from sandbox_agent.sdk.session.config.reported_state import reported_by_update, reported_options
from sandbox_agent.sdk.session.history.recorder import Recorder
from sandbox_agent.sdk.session.permissions.pending_requests import PendingRequests

HISTORY_UPDATES = frozenset(
    {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update"}
)


class IncomingMessages:
    """Takes in what the agent says to one session."""

    def __init__(
        self,
        binding: InstanceBinding,
        recorder: Recorder,
        requests: PendingRequests,
        stored: StoredRecord,
    ) -> None:
        self.loading = False
        """The agent is replaying its history, which is already stored."""
        self.repeating = False
        """The agent may repeat its history after it has restored the session."""
        self.repeated = 0
        """How many repeated updates were dropped."""
        self.holding = False
        """Messages of the stream are queued while missed events are read again."""
        self._held: list[tuple[Envelope, int | None]] = []
        self._binding = binding
        self._recorder = recorder
        self._requests = requests
        self._stored = stored

    def take(self, envelope: Envelope, event_id: int | None) -> None:
        """Take in a message of the agent, in stream order."""
        method = envelope.get("method")
        if self.holding:
            self._held.append((envelope, event_id))
            return
        if method is None and self._binding.leftovers.answered(str(envelope.get("id"))):
            return
        if method == "session/update" and (self.loading or (self.repeating and _is_history(envelope))):
            self.repeated += 1
            return
        key = self._binding.stream_key(event_id)
        if self._binding.is_stored(event_id):
            return
        self._recorder.add(envelope, "agent", event_id=event_id, key=key)
        if method is None:
            self._answered(envelope)
        elif "id" in envelope:
            self._requests.asked(envelope)
        elif method == "$/cancel_request":
            self._requests.withdrawn((envelope.get("params") or {}).get("requestId"))
        elif method == "session/update":
            update = (envelope.get("params") or {}).get("update")
            self._note(reported_by_update(self._stored.record, update))

    def deliver_held(self) -> None:
        """Take in the messages queued behind the missed events."""
        held, self._held = self._held, []
        for envelope, event_id in held:
            self.take(envelope, event_id)

    def note_options(self, holder: Any) -> None:
        """Keep the options and modes in an answer or update of the agent."""
        self._note(reported_options(self._stored.record, holder))

    def _answered(self, envelope: Envelope) -> None:
        if self._binding.bound_by(envelope):
            self.loading = False
            if isinstance(result := envelope.get("result"), Mapping):
                self.note_options(result)

    def _note(self, changes: dict[str, Any]) -> None:
        if changes:
            self._stored.change(**changes)


def _is_history(envelope: Envelope) -> bool:
    update = (envelope.get("params") or {}).get("update")
    return isinstance(update, Mapping) and update.get("sessionUpdate") in HISTORY_UPDATES
