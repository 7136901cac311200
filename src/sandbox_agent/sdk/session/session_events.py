"""Reading a session: stored events by the page, live events, and both without gap or duplicate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from functools import cached_property
from typing import get_args

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.checkpoints import PAGE, map_on, mapped_up_to
from sandbox_agent.sdk.session.history.history_pager import HistoryPager
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.stores import EventRecord
from sandbox_agent.sdk.universal import EventType, UniversalEvent

log = logging.getLogger("sandbox_agent")

EVENT_TYPES: tuple[str, ...] = get_args(EventType)
_Stored = AsyncGenerator[tuple[EventRecord, list[UniversalEvent]]]
EventCallback = Callable[[UniversalEvent], Awaitable[None] | None]


class SessionEvents:
    """The events of one session, for its readers."""

    def __init__(self, lifecycle: SessionLifecycle) -> None:
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel

    @cached_property
    def _pager(self) -> HistoryPager:
        """Made when the history is read: most sessions of a client are not read again."""
        return HistoryPager(
            self._channel.pool.store,
            self._channel.record.id,
            self._channel.record.agent,
            include_raw=self._channel.mapper.include_raw,
        )

    async def page(self, offset: int, limit: int) -> list[UniversalEvent]:
        """Stored universal events, skipping the first `offset`."""
        await self._channel.flush()
        return await self._pager.events(offset, limit)

    async def raw_page(self, offset: int, limit: int) -> list[Envelope]:
        """Stored ACP messages, skipping the first `offset`."""
        await self._channel.flush()
        return await self._pager.messages(offset, limit)

    async def follow(self, since: int) -> AsyncIterator[UniversalEvent]:
        """Events with a sequence after `since`: the stored ones, then live ones."""
        async with aclosing(self._entries(self._stored_events(since))) as entries:
            async for _, _, events in entries:
                for event in events:
                    if event.sequence > since:
                        yield event

    async def follow_raw(self, since: int) -> AsyncIterator[Envelope]:
        """ACP messages after the first `since`: the stored ones, then live ones."""
        async with aclosing(self._entries(self._stored_messages(since))) as entries:
            async for number, envelope, _ in entries:
                if number > since:
                    yield envelope

    async def _entries(self, stored: _Stored) -> AsyncGenerator[tuple[int, Envelope, list[UniversalEvent]]]:
        """Messages with their number and events: from `stored`, then live."""
        channel = self._channel
        entries: asyncio.Queue[RecordedMessage | None] = asyncio.Queue()
        unwatch = channel.recorder.watch(entries.put_nowait, on_end=lambda: entries.put_nowait(None))
        reached = number = channel.recorder.count
        channel.watchers += 1
        try:
            await channel.flush()
            async with aclosing(stored):
                async for record, events in stored:
                    if record.event_index > reached:
                        break
                    yield record.event_index, dict(record.payload), events
            while (entry := await entries.get()) is not None:
                number += 1
                yield number, entry.envelope, entry.events
        finally:
            channel.watchers -= 1
            unwatch()

    async def _stored_events(self, since: int) -> _Stored:
        """Stored messages from before the event after `since`; none if that event is not there yet."""
        channel = self._channel
        if since >= channel.mapper.sequence:
            return
        store, record = channel.pool.store, channel.record
        raw = channel.mapper.include_raw
        history = await mapped_up_to(store, record.id, record.agent, since, include_raw=raw)
        async for entry in map_on(store, record.id, history):
            yield entry

    async def _stored_messages(self, since: int) -> _Stored:
        """Stored messages after the first `since`, which need no mapping."""
        after: int | None = since
        while after is not None:
            page = await self._channel.pool.store.list_events(
                self._channel.record.id, after_index=after, limit=PAGE
            )
            for record in page.items:
                yield record, []
            after = page.items[-1].event_index if page.next_cursor is not None else None

    def on_event(self, callback: EventCallback, type: EventType | None) -> Callable[[], None]:
        """Call `callback` for every event, or those of one type; returns a function that unsubscribes."""
        if not callable(callback):
            raise TypeError(f"the callback for events is a function, not {callback!r}")
        if type is not None and type not in EVENT_TYPES:
            raise ValueError(f"there is no event {type!r}; events are {', '.join(EVENT_TYPES)}")
        queue: asyncio.Queue[UniversalEvent] = asyncio.Queue()
        channel = self._channel

        def take(entry: RecordedMessage) -> None:
            for event in entry.events:
                if type is None or event.type == type:
                    queue.put_nowait(event)

        async def deliver() -> None:
            while True:
                event = await queue.get()
                try:
                    await channel.requests.handlers.call(callback, event)
                except Exception:
                    log.exception("an event callback of session %s failed", channel.record.id)

        unwatch = channel.recorder.watch(take)
        task = self._lifecycle.spawn(deliver(), "event callback")
        channel.watchers += 1

        def stop() -> None:
            if not task.cancelled():
                channel.watchers -= 1
            unwatch()
            task.cancel()

        return stop
