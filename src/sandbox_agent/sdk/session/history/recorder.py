"""The recorder of a session: every message is mapped, handed to the readers, and stored.

All messages, in both directions, pass here in stream order; the store is written behind the readers, in
the same order. A message can be held back from the store until it is known to be sent; later messages wait
behind it. `store_writer.py` has what happens when the store fails.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.checkpoints import PAGE, CheckpointSchedule
from sandbox_agent.sdk.session.history.store_writer import StoreWriter
from sandbox_agent.sdk.stores import EventRecord, Sender, SessionRecord, SessionStore
from sandbox_agent.sdk.stores.records import new_event_id
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper


class RecordedMessage(Struct, frozen=True, gc=False):
    """One message and the universal events that follow from it."""

    envelope: Envelope
    sender: Sender
    events: list[UniversalEvent]
    created_at: int
    event_id: int | None
    """The number on the stream, for messages of the agent."""
    key: str


Watcher = Callable[[RecordedMessage], None]


class Recorder:
    """Records the messages of one session."""

    def __init__(self, session_id: str, mapper: UniversalMapper, writer: StoreWriter) -> None:
        self.mapper = mapper
        self.connection_id = ""
        self.count = 0
        """The number of messages of the session."""
        self._schedule = CheckpointSchedule()
        self._session_id = session_id
        self._writer = writer
        self._watchers: list[Watcher] = []
        self._on_end: list[Callable[[], None]] = []
        self.ended = False
        """The session was closed on this client; no message comes until it is connected again."""

    def watch(self, watcher: Watcher, *, on_end: Callable[[], None] | None = None) -> Callable[[], None]:
        """Call `watcher` for every message from now on; returns a function that unsubscribes.

        `on_end` is called when the session is closed, at once if it is.
        """
        self._watchers.append(watcher)
        if on_end is not None:
            self._on_end.append(on_end)
            if self.ended:
                on_end()

        def unwatch() -> None:
            if watcher in self._watchers:
                self._watchers.remove(watcher)
            if on_end in self._on_end:
                self._on_end.remove(on_end)

        return unwatch

    def continue_after(self, index: int) -> None:
        """Continue a stored history whose last message has this index."""
        self.count, self._schedule = index, CheckpointSchedule(index)

    def end(self) -> None:
        """Tell the readers that no more messages come."""
        self.ended = True
        for on_end in list(self._on_end):
            on_end()

    def add(
        self,
        envelope: Envelope,
        sender: Sender,
        *,
        event_id: int | None = None,
        key: str | None = None,
        held_by: asyncio.Future[Any] | None = None,
    ) -> RecordedMessage:
        """Map, publish and queue one message; it is stored after `held_by` is done."""
        now = int(time.time() * 1000)
        events = self.mapper.feed(envelope, sender, time=now)
        entry = RecordedMessage(envelope, sender, events, now, event_id, key or new_event_id())
        self.count += 1
        record = EventRecord(
            session_id=self._session_id,
            sender=sender,
            payload=envelope,
            created_at=now,
            connection_id=self.connection_id,
            id=entry.key,
        )
        checkpoint = self._schedule.take(self._session_id, self.mapper, self.count)
        self._writer.add(record, event_id, held_by, checkpoint)
        for watcher in list(self._watchers):
            watcher(entry)
        return entry


def stream_key_prefix(server_id: str, server_created_at: int | None, session_id: str) -> str:
    """The start of the stored ids of stream events; the number of the event follows.

    An event that is read again has the same id, so it is stored once.
    """
    return f"{uuid.uuid5(uuid.NAMESPACE_URL, f'{server_id}/{server_created_at}/{session_id}')}/"


async def last_number(store: SessionStore, record: SessionRecord, key_prefix: str) -> int:
    """The number of the last stored event of the instance that a session ran in; 0 if there is none."""
    cursor: str | None = None
    while True:
        page = await store.list_events(record.id, order="desc", limit=PAGE, cursor=cursor)
        for event in page.items:
            if event.id.startswith(key_prefix):
                return int(event.id.removeprefix(key_prefix))
            if event.connection_id != record.server_id:
                return 0
        cursor = page.next_cursor
        if cursor is None:
            return 0
