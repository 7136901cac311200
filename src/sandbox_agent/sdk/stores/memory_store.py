"""The store in memory: the default; its content is lost with the process.

It keeps everything unless limits are set; then the oldest sessions (by creation time) and the oldest events
of a session are dropped first. Records are copied on the way in and out; payloads are kept as JSON text,
which is faster than copying objects.
"""

from __future__ import annotations

import copy
from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.columns import check_fields
from sandbox_agent.sdk.stores.cursors import (
    check_limit,
    read_event_cursor,
    read_session_cursor,
    session_cursor,
)
from sandbox_agent.sdk.stores.records import EventRecord, Order, Page, SessionRecord, same_event
from sandbox_agent.sdk.stores.session_store import DEFAULT_LIMIT
from sandbox_agent.sdk.stores.store_errors import EventConflictError, StoreClosedError


@dataclass(frozen=True, slots=True)
class _Stored:
    """An event with its payload as JSON text; the payload of the record is empty."""

    record: EventRecord
    text: str

    def copy(self) -> EventRecord:
        return replace(self.record, payload=json_codec.decode(self.text))


@dataclass(slots=True)
class _Log:
    """The events of one session: by index, and the sorted indexes."""

    by_index: dict[int, _Stored] = field(default_factory=dict)
    indexes: list[int] = field(default_factory=list)
    last_index: int = 0


class MemoryStore:
    """Keeps sessions and events for the lifetime of the process."""

    def __init__(self, *, max_sessions: int | None = None, max_events_per_session: int | None = None) -> None:
        self._max_sessions = max_sessions
        self._max_events = max_events_per_session
        self._sessions: dict[str, SessionRecord] = {}
        self._logs: dict[str, _Log] = {}
        self._by_id: dict[str, _Stored] = {}
        self._closed = False

    async def __aenter__(self) -> MemoryStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get_session(self, session_id: str) -> SessionRecord | None:
        self._check_open()
        return copy.deepcopy(self._sessions.get(session_id))

    async def list_sessions(
        self,
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        order: Order = "asc",
        archived: bool | None = None,
    ) -> Page[SessionRecord]:
        self._check_open()
        check_limit(limit)
        rows = sorted(self._sessions.values(), key=_session_key, reverse=order == "desc")
        if archived is not None:
            rows = [row for row in rows if (row.archived_at is not None) == archived]
        if cursor is not None:
            position = read_session_cursor(cursor)
            rows = [
                r
                for r in rows
                if (_session_key(r) > position if order == "asc" else _session_key(r) < position)
            ]
        page = copy.deepcopy(rows[:limit])
        return Page(page, session_cursor(*_session_key(page[-1])) if len(rows) > limit else None)

    async def update_session(self, record: SessionRecord) -> None:
        self._check_open()
        self._sessions[record.id] = copy.deepcopy(record)
        if self._max_sessions is not None and len(self._sessions) > self._max_sessions:
            self._delete(min(self._sessions.values(), key=_session_key).id)

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        self._check_open()
        check_fields(changes)
        if session_id not in self._sessions:
            return None
        self._sessions[session_id] = replace(self._sessions[session_id], **copy.deepcopy(changes))
        return copy.deepcopy(self._sessions[session_id])

    async def delete_session(self, session_id: str) -> bool:
        self._check_open()
        return self._delete(session_id)

    async def insert_event(self, event: EventRecord) -> EventRecord:
        return (await self.insert_events([event]))[0]

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        self._check_open()
        answer: list[_Stored] = []
        fresh: dict[str, _Stored] = {}
        taken: set[tuple[str, int]] = set()
        last: dict[str, int] = {}
        for event in events:
            known = fresh.get(event.id) or self._by_id.get(event.id)
            if known is None:
                log = self._logs.get(event.session_id) or _Log()
                highest = last.get(event.session_id, log.last_index)
                index = event.event_index or highest + 1
                if (event.session_id, index) in taken or index in log.by_index:
                    raise EventConflictError(event.session_id, index, event.id)
                taken.add((event.session_id, index))
                last[event.session_id] = max(highest, index)
                known = _Stored(
                    replace(event, event_index=index, payload={}), json_codec.encode_text(event.payload)
                )
                fresh[event.id] = known
            elif not same_event(known.record, event):
                raise EventConflictError(event.session_id, event.event_index, event.id)
            answer.append(known)
        for stored in fresh.values():
            self._add(stored)
        return [stored.copy() for stored in answer]

    async def list_events(
        self,
        session_id: str,
        *,
        after_index: int = 0,
        offset: int = 0,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        order: Order = "asc",
    ) -> Page[EventRecord]:
        self._check_open()
        check_limit(limit)
        log = self._logs.get(session_id) or _Log()
        indexes = log.indexes[bisect_right(log.indexes, after_index) :]
        if order == "desc":
            indexes.reverse()
        if cursor is not None:
            position = read_event_cursor(cursor)
            indexes = [i for i in indexes if (i > position if order == "asc" else i < position)]
        else:
            indexes = indexes[offset:]
        items = [log.by_index[i].copy() for i in indexes[:limit]]
        return Page(items, str(items[-1].event_index) if len(indexes) > limit else None)

    async def count_events(self, session_id: str) -> int:
        self._check_open()
        return len(self._logs[session_id].indexes) if session_id in self._logs else 0

    async def max_event_index(self, session_id: str) -> int:
        self._check_open()
        return self._logs[session_id].last_index if session_id in self._logs else 0

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store is closed")

    def _add(self, stored: _Stored) -> None:
        event = stored.record
        log = self._logs.setdefault(event.session_id, _Log())
        log.by_index[event.event_index] = stored
        insort(log.indexes, event.event_index)
        log.last_index = max(log.last_index, event.event_index)
        self._by_id[event.id] = stored
        while self._max_events is not None and len(log.indexes) > self._max_events:
            dropped = log.by_index.pop(log.indexes.pop(0))
            del self._by_id[dropped.record.id]

    def _delete(self, session_id: str) -> bool:
        log = self._logs.pop(session_id, None)
        for stored in log.by_index.values() if log else ():
            del self._by_id[stored.record.id]
        return self._sessions.pop(session_id, None) is not None or log is not None


def _session_key(record: SessionRecord) -> tuple[int, str]:
    return record.created_at, record.id
