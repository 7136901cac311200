"""The recorder of a session: every message is mapped, handed to the readers, and stored.

All messages, in both directions, pass here in stream order; the store is written behind the readers, in
the same order. A message can be held back from the store until it is known to be sent; later messages wait
behind it.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.stores import EventRecord, Sender, SessionStore, StoreUnavailableError
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

log = logging.getLogger("sandbox_agent")

STORE_TRIES = 4
BATCH = 256


@dataclass(frozen=True, slots=True)
class RecordedMessage:
    """One message and the universal events that follow from it."""

    envelope: Envelope
    sender: Sender
    events: list[UniversalEvent]
    created_at: int
    event_id: int | None = None
    """The number on the stream, for messages of the agent."""
    key: str = field(default_factory=lambda: str(uuid.uuid4()))


Watcher = Callable[[RecordedMessage], None]


class Recorder:
    """Records the messages of one session."""

    def __init__(self, store: SessionStore, session_id: str, mapper: UniversalMapper) -> None:
        self.mapper = mapper
        self.connection_id = ""
        self.count = 0
        """The number of messages of the session."""
        self.failure: BaseException | None = None
        self._store = store
        self._session_id = session_id
        self._watchers: list[Watcher] = []
        self._waiting: deque[tuple[RecordedMessage, asyncio.Future[Any] | None]] = deque()
        self._written = asyncio.Event()
        self._written.set()
        self._writer: asyncio.Task[None] | None = None
        self._ready = False

    def watch(self, watcher: Watcher) -> Callable[[], None]:
        """Call `watcher` for every message from now on; returns a function that unsubscribes."""
        self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher) if watcher in self._watchers else None

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
        entry = RecordedMessage(envelope, sender, events, now, event_id, key or str(uuid.uuid4()))
        self.count += 1
        self._waiting.append((entry, held_by))
        self._written.clear()
        self._write_on()
        for watcher in list(self._watchers):
            watcher(entry)
        return entry

    def start(self) -> None:
        """Start to write: the session is in the store now."""
        self._ready = True
        self._write_on()

    @property
    def started(self) -> bool:
        """Whether the session is in the store."""
        return self._ready

    async def flush(self) -> None:
        """Wait until every message so far is stored; raises if the store failed."""
        await self._written.wait()
        if self.failure is not None:
            raise self.failure

    def _write_on(self) -> None:
        if self._ready and self._waiting and self.failure is None and self._writer is None:
            self._writer = asyncio.create_task(self._write(), name=f"store {self._session_id}")

    async def _write(self) -> None:
        try:
            while self._waiting:
                batch = await self._next_batch()
                await self._store_batch(batch)
                for _ in batch:
                    self._waiting.popleft()
        except Exception as error:
            log.exception("session %s could not be stored", self._session_id)
            self.failure = error
        finally:
            self._writer = None
            self._written.set()

    async def _next_batch(self) -> list[RecordedMessage]:
        held = self._waiting[0][1]
        if held is not None and not held.done():
            await asyncio.wait([held])
        batch: list[RecordedMessage] = []
        for entry, holder in self._waiting:
            if len(batch) == BATCH or (holder is not None and not holder.done()):
                break
            batch.append(entry)
        return batch

    async def _store_batch(self, batch: list[RecordedMessage]) -> None:
        records = [
            EventRecord(
                session_id=self._session_id,
                sender=entry.sender,
                payload=entry.envelope,
                created_at=entry.created_at,
                connection_id=self.connection_id,
                id=entry.key,
            )
            for entry in batch
        ]
        last = max((entry.event_id or 0 for entry in batch), default=0)
        for attempt in range(STORE_TRIES):
            try:
                await self._store.insert_events(records)
                if last:
                    await self._store.patch_session(self._session_id, last_event_id=last)
                return
            except StoreUnavailableError:
                if attempt == STORE_TRIES - 1:
                    raise
                await asyncio.sleep(backoff(attempt))


def stream_key(server_id: str, server_created_at: int | None, session_id: str, event_id: int) -> str:
    """The stored id of a stream event; the same one whenever the event is read again."""
    name = f"{server_id}/{server_created_at}/{session_id}/{event_id}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))
