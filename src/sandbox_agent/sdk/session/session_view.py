"""`AsyncSessionView`: what can be read of a session: its state, its events and its transcript."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config.config_options import ConfigOption
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.history.history_pager import page_limit
from sandbox_agent.sdk.session.history.restorer import Restored
from sandbox_agent.sdk.session.history.session_export import export_session
from sandbox_agent.sdk.session.permissions.permission_request import PermissionRequest
from sandbox_agent.sdk.session.permissions.question import Question
from sandbox_agent.sdk.session.session_events import EventCallback, SessionEvents
from sandbox_agent.sdk.session.session_info import SessionInfo, SessionSettings, describe
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.session.turns.turn_queue import TurnQueue
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.transcripts.transcript import TranscriptFormat
from sandbox_agent.sdk.universal import EventType, UniversalEvent, Usage

Callback = TypeVar("Callback", bound=Callable[[Any], Awaitable[None] | None])
"""A callback for one type of events may name their class: `def show(event: ItemDelta)`."""


class AsyncSessionView:
    """The part of an `AsyncSession` that changes nothing."""

    def __init__(self, channel: SessionChannel, settings: SessionSettings, restored: Restored) -> None:
        self._channel = channel
        self._lifecycle = SessionLifecycle(channel, settings, restored)
        self._config = SessionConfig(channel)
        self._turns = TurnQueue(self._lifecycle, self._config)
        self._events = SessionEvents(self._lifecycle)

    def __repr__(self) -> str:
        state = "closed" if self._lifecycle.closed else "busy" if self.busy else "idle"
        title = f" {self.title!r}" if self.title else ""
        return f"<{type(self).__name__} {self.id!r}{title}, {self.agent} in {self.directory}, {state}>"

    # -- state ------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The client's id of the session."""
        return self._channel.record.id

    @property
    def agent(self) -> str:
        """The id of the agent."""
        return self._channel.record.agent

    @property
    def title(self) -> str | None:
        """The title, given by the caller or by the agent."""
        return self._channel.record.title

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The caller's own labels."""
        return dict(self._channel.record.metadata or {})

    @property
    def directory(self) -> str:
        """The working directory in the sandbox."""
        return self._lifecycle.settings.key.directory

    @property
    def native_session_id(self) -> str | None:
        """The agent's own id of the session."""
        return self._channel.native_id or None

    @property
    def restored(self) -> Restored:
        """How the session was connected to its present agent process."""
        return self._lifecycle.restored

    @property
    def active_turn(self) -> AsyncTurn | None:
        """The turn that is running, if this client started it."""
        return self._turns.active

    @property
    def usage(self) -> Usage:
        """What the session has used so far: tokens and cost in sum, and how full the context is."""
        return self._channel.mapper.usage

    @property
    def busy(self) -> bool:
        """Whether the agent works on a prompt, sent by this client or by one before it."""
        return bool(self._channel.mapper.open_turn_ids)

    @property
    def pending_permissions(self) -> list[PermissionRequest]:
        """Permission requests without an answer."""
        return self._channel.requests.permissions

    @property
    def pending_questions(self) -> list[Question]:
        """Questions without an answer."""
        return self._channel.requests.questions

    @property
    def config_options(self) -> list[ConfigOption]:
        """The options the agent offers, with their current values."""
        return self._config.options

    @property
    def modes(self) -> list[str]:
        """The modes that can be set."""
        return self._config.modes

    @property
    def info(self) -> SessionInfo:
        """A snapshot of the session."""
        return describe(self._channel, self._config, self._lifecycle.settings, self._lifecycle.restored)

    @property
    def record(self) -> SessionRecord:
        """The stored record as this client knows it; only the store knows its `last_event_id`."""
        return self._channel.record

    # -- events -----------------------------------------------------------------------------------------

    async def events(self, offset: int = 0, limit: int | None = None) -> list[UniversalEvent]:
        """Stored universal events: all of them, or `limit` after skipping `offset`."""
        return await self._events.page(offset, page_limit(offset, limit))

    async def raw_events(self, offset: int = 0, limit: int | None = None) -> list[Envelope]:
        """Stored ACP messages, in both directions: all of them, or `limit` after skipping `offset`."""
        return await self._events.raw_page(offset, page_limit(offset, limit))

    async def export(self, format: TranscriptFormat = "markdown") -> str:
        """The conversation so far as text: `markdown`, `chat` (JSONL for training) or `atif`."""
        await self._channel.flush()
        return await export_session(self._channel.pool.store, self.id, format)

    def follow(self, since: int = 0) -> AsyncIterator[UniversalEvent]:
        """Events with a sequence after `since`: the stored ones, then live ones, until it is closed."""
        return self._events.follow(since)

    def follow_raw(self, since: int = 0) -> AsyncIterator[Envelope]:
        """ACP messages after the first `since`: the stored ones, then live ones, until it is closed."""
        return self._events.follow_raw(since)

    def on_event(self, callback: EventCallback, *, type: EventType | None = None) -> Callable[[], None]:
        """Call `callback` for every event from now on, or for those of one type.

        Returns a function that ends the subscription. The callback may be async; see
        `callbacks_in_threads` for where a plain function runs.
        """
        return self._events.on_event(callback, type)

    def on(self, type: EventType) -> Callable[[Callback], Callback]:
        """`@session.on("item.delta")`: call the function for every event of this type from now on."""

        def register(callback: Callback) -> Callback:
            self.on_event(callback, type=type)
            return callback

        return register
