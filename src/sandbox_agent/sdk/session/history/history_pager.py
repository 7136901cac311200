"""The stored history of a session, as messages and as universal events.

Events are derived from messages, and every event depends on those before it. A pager therefore keeps its
place: the next page goes on where the last one ended. Copies of the mapper along the way let it go back
without starting over, so that reading a whole session page by page, in either direction, derives it about
once. Stores only ever add to a history, so what a pager has read stays true.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.stores import EventRecord, SessionStore
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

PAGE = 1000
# Messages between two places to go back to; doubles whenever there would be too many places.
SPAN = 1000
MAX_PLACES = 32


async def read_pages(store: SessionStore, session_id: str) -> AsyncIterator[list[EventRecord]]:
    """All stored messages of a session, a page at a time."""
    cursor: str | None = None
    while True:
        page = await store.list_events(session_id, limit=PAGE, cursor=cursor)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:
            return


async def read_history(store: SessionStore, session_id: str) -> list[EventRecord]:
    """All stored messages of a session."""
    return [record async for page in read_pages(store, session_id) for record in page]


def replay_history(history: list[EventRecord], mapper: UniversalMapper) -> list[UniversalEvent]:
    """Feed stored messages to a mapper; the events they gave when they were live."""
    return [
        event
        for record in history
        for event in mapper.feed(dict(record.payload), record.sender, time=record.created_at)
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    """A point of the history to go back to: what lies before it, and the mapper as it was there."""

    messages: int
    events: int
    after_index: int
    mapper: UniversalMapper


class HistoryPager:
    """Reads the history of one session by offset and limit."""

    def __init__(self, store: SessionStore, session_id: str, agent: str) -> None:
        self._store = store
        self._session_id = session_id
        self._span = SPAN
        self._places = [_Place(0, 0, 0, UniversalMapper(session_id, agent=agent))]
        self._raw_place = (0, 0)
        """An offset into the messages, and the index of the message before it."""
        self._lock = asyncio.Lock()
        self._mapper = self._places[0].mapper.copy()
        self._messages = self._after_index = 0
        self._window: list[UniversalEvent] = []
        """The events since the last place that was passed."""
        self._first = 0
        """How many events come before the window."""
        self._next_place = SPAN

    async def events(self, offset: int, limit: int) -> list[UniversalEvent]:
        """Universal events, without the first `offset`."""
        offset, found = max(0, offset), list[UniversalEvent]()
        async with self._lock:
            if offset < self._first:
                self._go_to(next(place for place in reversed(self._places) if place.events <= offset))
            while len(found) < limit:
                start = max(0, offset + len(found) - self._first)
                found += self._window[start : start + limit - len(found)]
                if len(found) < limit and not await self._read_on():
                    break
        return found

    async def messages(self, offset: int, limit: int) -> list[Envelope]:
        """ACP messages, in both directions, without the first `offset`."""
        if limit < 1:
            return []
        offset = max(0, offset)
        before, index = self._raw_place if self._raw_place[0] <= offset else (0, 0)
        page = await self._store.list_events(
            self._session_id, after_index=index, offset=offset - before, limit=limit
        )
        if page.items:
            self._raw_place = (offset + len(page.items), page.items[-1].event_index)
        return [dict(record.payload) for record in page.items]

    async def _read_on(self) -> bool:
        """Derive the events of the next messages; False at the end of the history."""
        if self._messages == self._next_place:
            self._pass_place()
        page = await self._store.list_events(
            self._session_id,
            after_index=self._after_index,
            limit=min(PAGE, self._next_place - self._messages),
        )
        if not page.items:
            return False
        self._window += replay_history(page.items, self._mapper)
        self._messages += len(page.items)
        self._after_index = page.items[-1].event_index
        return True

    def _pass_place(self) -> None:
        """Remember this point, unless it is known, and forget the events before it."""
        self._first += len(self._window)
        self._window = []
        if self._messages > self._places[-1].messages:
            self._places.append(_Place(self._messages, self._first, self._after_index, self._mapper.copy()))
            if len(self._places) > MAX_PLACES:
                self._places, self._span = self._places[::2], self._span * 2
        self._next_place = self._place_after(self._messages)

    def _go_to(self, place: _Place) -> None:
        self._mapper = place.mapper.copy()
        self._messages, self._after_index = place.messages, place.after_index
        self._window, self._first = [], place.events
        self._next_place = self._place_after(place.messages)

    def _place_after(self, messages: int) -> int:
        return next((p.messages for p in self._places if p.messages > messages), messages + self._span)
