"""The stored history of a session, as messages and as universal events.

Every event depends on the messages before it, so a pager keeps its position: the next page continues
where the last one ended. Copies of the mapper at checkpoints allow going back without starting over;
reading a whole session page by page, in either direction, maps it about once. Histories only grow, so a
checkpoint stays valid.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.checkpoints import PORTION, mapped_up_to
from sandbox_agent.sdk.stores import SessionStore
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

PAGE = 1000
# Messages between two checkpoints; doubles whenever there would be too many of them.
SPAN = 1000
MAX_CHECKPOINTS = 32
# More entries than any history has; a database takes this number, and one more, as a limit.
ALL = 2**53


def page_limit(offset: int, limit: int | None) -> int:
    """The number of entries for `limit=`; None means all. Raises `ValueError` if one is negative."""
    if offset < 0:
        raise ValueError(f"offset is the number of entries to skip, not {offset}")
    if limit is None:
        return ALL
    if limit < 0:
        raise ValueError(f"limit is a number of entries, or None for all of them, not {limit}")
    return limit


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A position in the history and a copy of the mapper at that position."""

    messages: int
    events: int
    after_index: int
    mapper: UniversalMapper


class HistoryPager:
    """Reads the history of one session by offset and limit."""

    def __init__(
        self, store: SessionStore, session_id: str, agent: str, *, include_raw: bool = False
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._agent = agent
        self._include_raw = include_raw
        self._span = SPAN
        self._checkpoints = [
            _Checkpoint(0, 0, 0, UniversalMapper(session_id, agent=agent, include_raw=include_raw))
        ]
        self._raw_position = (0, 0)
        """An offset into the messages, and the index of the message before it."""
        self._lock = asyncio.Lock()
        self._mapper = self._checkpoints[0].mapper.copy()
        self._messages = self._after_index = 0
        self._window: list[UniversalEvent] = []
        """The events since the last checkpoint."""
        self._first = 0
        """The number of events before the window."""
        self._next_checkpoint = SPAN

    async def events(self, offset: int, limit: int) -> list[UniversalEvent]:
        """Universal events, skipping the first `offset`."""
        offset, found = max(0, offset), list[UniversalEvent]()
        async with self._lock:
            await self._go_to(offset)
            while len(found) < limit:
                start = max(0, offset + len(found) - self._first)
                found += self._window[start : start + limit - len(found)]
                if len(found) < limit and not await self._map_next():
                    break
        return found

    async def _go_to(self, offset: int) -> None:
        """Go to the nearest checkpoint before `offset`: one of this pager, or a stored one."""
        known = next(one for one in reversed(self._checkpoints) if one.events <= offset)
        if offset < self._first:
            self._rewind(known)
        if offset - max(known.events, self._first) > self._span:
            stored = await mapped_up_to(
                self._store, self._session_id, self._agent, offset, include_raw=self._include_raw
            )
            if stored.mapper.count > max(known.events, self._first):
                self._rewind(_Checkpoint(stored.index, stored.mapper.count, stored.index, stored.mapper))

    async def messages(self, offset: int, limit: int) -> list[Envelope]:
        """ACP messages, in both directions, skipping the first `offset`."""
        if limit < 1:
            return []
        offset = max(0, offset)
        before, index = self._raw_position if self._raw_position[0] <= offset else (0, 0)
        page = await self._store.list_events(
            self._session_id, after_index=index, offset=offset - before, limit=limit
        )
        if page.items:
            self._raw_position = (offset + len(page.items), page.items[-1].event_index)
        return [dict(record.payload) for record in page.items]

    async def _map_next(self) -> bool:
        """Map the next messages; False at the end of the history."""
        if self._messages == self._next_checkpoint:
            self._add_checkpoint()
        page = await self._store.list_events(
            self._session_id,
            after_index=self._after_index,
            limit=min(PAGE, self._next_checkpoint - self._messages),
        )
        if not page.items:
            return False
        for number, record in enumerate(page.items, 1):
            self._window += self._mapper.feed(dict(record.payload), record.sender, time=record.created_at)
            if number % PORTION == 0:
                await asyncio.sleep(0)
        self._messages += len(page.items)
        self._after_index = page.items[-1].event_index
        return True

    def _add_checkpoint(self) -> None:
        """Add a checkpoint here, unless there is one, and drop the events before it."""
        self._first += len(self._window)
        self._window = []
        if self._messages > self._checkpoints[-1].messages:
            self._checkpoints.append(
                _Checkpoint(self._messages, self._first, self._after_index, self._mapper.copy())
            )
            if len(self._checkpoints) > MAX_CHECKPOINTS:
                self._checkpoints, self._span = self._checkpoints[::2], self._span * 2
        self._next_checkpoint = self._checkpoint_after(self._messages)

    def _rewind(self, checkpoint: _Checkpoint) -> None:
        self._mapper = checkpoint.mapper.copy()
        self._messages, self._after_index = checkpoint.messages, checkpoint.after_index
        self._window, self._first = [], checkpoint.events
        self._next_checkpoint = self._checkpoint_after(checkpoint.messages)

    def _checkpoint_after(self, messages: int) -> int:
        known = next((p.messages for p in self._checkpoints if p.messages > messages), messages + self._span)
        return min(known, messages + self._span)
