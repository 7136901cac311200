"""Reading a session: stored events by the page, live events, and both without gap or duplicate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.history_pager import HistoryPager, read_pages, replay_history
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

log = logging.getLogger("sandbox_agent")

EventCallback = Callable[[UniversalEvent], Awaitable[None] | None]


class SessionEvents:
    """The events of one session, for its readers."""

    def __init__(self, lifecycle: SessionLifecycle) -> None:
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel
        self._pager = HistoryPager(
            self._channel.pool.store, self._channel.record.id, self._channel.record.agent
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
        async with aclosing(self._entries()) as entries:
            async for _, events in entries:
                for event in events:
                    if event.sequence > since:
                        yield event

    async def follow_raw(self, since: int) -> AsyncIterator[Envelope]:
        """ACP messages after the first `since`: the stored ones, then live ones."""
        number = 0
        async with aclosing(self._entries()) as entries:
            async for envelope, _ in entries:
                number += 1
                if number > since:
                    yield envelope

    async def _entries(self) -> AsyncGenerator[tuple[Envelope, list[UniversalEvent]]]:
        channel = self._channel
        entries: asyncio.Queue[RecordedMessage] = asyncio.Queue()
        unwatch = channel.recorder.watch(entries.put_nowait)
        reached = channel.recorder.count
        channel.watchers += 1
        try:
            await channel.flush()
            mapper = UniversalMapper(channel.record.id, agent=channel.record.agent)
            async for page in read_pages(channel.pool.store, channel.record.id):
                for record in page:
                    if record.event_index <= reached:
                        yield dict(record.payload), replay_history([record], mapper)
            while True:
                entry = await entries.get()
                yield entry.envelope, entry.events
        finally:
            channel.watchers -= 1
            unwatch()

    def on_event(self, callback: EventCallback, type: str | None) -> Callable[[], None]:
        """Call `callback` for every event, or those of one type; returns a function that unsubscribes."""
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
