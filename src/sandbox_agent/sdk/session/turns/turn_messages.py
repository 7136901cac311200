"""The messages of one turn as they arrive, without late messages of an earlier turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.small_event import SmallEvent
from sandbox_agent.sdk.universal import UniversalEvent


class TurnMessages:
    """What a turn has received so far, for its readers and its result."""

    def __init__(self, turn_id: str, older_turn_open: Callable[[str], bool]) -> None:
        self.events: list[UniversalEvent] = []
        self.raw: list[Envelope] = []
        self.deltas: list[str] = []
        """The agent's text, in pieces."""
        self.usage: dict[str, Any] = {}
        self.idle: dict[str, Any] | None = None
        """The state that ended the turn (ACP v2)."""
        self.sent = SmallEvent()
        """Set once the agent has the prompt."""
        # The id instead of the turn: a reference to it would keep the turn, and its events, until the
        # garbage collector runs.
        self._turn_id = turn_id
        self._older_turn_open = older_turn_open
        self._undecided: list[RecordedMessage] = []
        """Messages that may still belong to an older turn."""
        self._behind = False
        """The agent works on an older turn."""
        self._changed = SmallEvent()
        self._awaited = False
        """A reader waits for `_changed`."""

    def take(self, entry: RecordedMessage) -> None:
        """Take in a message of the session since this turn began."""
        self.sent.set()
        if entry.sender == "client":
            self._add(entry)
        elif self._older_turn_open(self._turn_id):
            self._behind = True
            self._undecided.append(entry)
        elif self._behind:
            # The older turn has ended: what came before belongs to it, as does the answer that ended it.
            self._behind = False
            self._undecided.clear()
            if "method" in entry.envelope or entry.envelope.get("id") in self._call_ids():
                self._add(entry)
        else:
            self._add(entry)

    def take_undecided(self) -> None:
        """Add the messages that may belong to an older turn.

        The agent has answered this prompt before that of the older turn: nothing tells their messages apart.
        """
        undecided, self._undecided = self._undecided, []
        for entry in undecided:
            self._add(entry)

    async def next_change(self) -> None:
        """Wait for the next message, or for `tell`."""
        self._awaited = True
        await self._changed.wait()

    def tell(self) -> None:
        """Wake the readers."""
        if self._awaited:  # a new event object for every message would take as long as the rest of `take`
            self._awaited = False
            changed, self._changed = self._changed, SmallEvent()
            changed.set()

    def _add(self, entry: RecordedMessage) -> None:
        self.raw.append(entry.envelope)
        self.events.extend(entry.events)
        update = _update_of(entry)
        if update.get("sessionUpdate") == "agent_message_chunk":
            content = update.get("content")
            if isinstance(content, dict) and isinstance(text := content.get("text"), str):
                self.deltas.append(text)
        elif update.get("sessionUpdate") == "usage_update":
            self.usage = {key: value for key, value in update.items() if key != "sessionUpdate"}
        elif update.get("sessionUpdate") == "state_update" and update.get("state") == "idle":
            self.idle = update
        self.tell()

    def _call_ids(self) -> list[Any]:
        return [message["id"] for message in self.raw if message.get("method") == "session/prompt"]


def _update_of(entry: RecordedMessage) -> dict[str, Any]:
    if entry.sender != "agent" or entry.envelope.get("method") != "session/update":
        return {}
    update = (entry.envelope.get("params") or {}).get("update")
    return update if isinstance(update, dict) else {}
