"""The store in memory: the default; its content is lost with the process.

It keeps everything unless limits are set; then the oldest sessions (by creation time) and the oldest events
of a session are dropped first. Records are copied on the way in and out; payloads are kept as JSON text,
which is faster than copying objects.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import Struct, structs

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.columns import check_fields
from sandbox_agent.sdk.stores.cursors import (
    check_limit,
    read_event_cursor,
    read_session_cursor,
    session_cursor,
)
from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, Sender, SessionRecord
from sandbox_agent.sdk.stores.session_store import DEFAULT_LIMIT
from sandbox_agent.sdk.stores.store_errors import EventConflictError, StoreClosedError

_JSON_FIELDS = ("metadata", "session_init", "config_options", "modes", "init_result")


class _Stored(Struct, frozen=True, gc=False):
    """An event with its payload as JSON text."""

    event_index: int
    session_id: str
    sender: Sender
    created_at: int
    connection_id: str
    id: str
    text: str

    def record(self) -> EventRecord:
        return EventRecord(
            session_id=self.session_id,
            sender=self.sender,
            payload=json_codec.decode(self.text),
            created_at=self.created_at,
            connection_id=self.connection_id,
            event_index=self.event_index,
            id=self.id,
        )


@dataclass(slots=True)
class _SessionEvents:
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
        self._logs: dict[str, _SessionEvents] = {}
        self._by_id: dict[str, _Stored] = {}
        self._checkpoints: dict[str, dict[int, Checkpoint]] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"<MemoryStore, {len(self._sessions)} sessions{', closed' if self._closed else ''}>"

    async def __aenter__(self) -> MemoryStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get_session(self, session_id: str) -> SessionRecord | None:
        self._check_open()
        known = self._sessions.get(session_id)
        return None if known is None else _copy(known)

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
        page = [_copy(row) for row in rows[:limit]]
        return Page(page, session_cursor(*_session_key(page[-1])) if len(rows) > limit else None)

    async def insert_session(self, record: SessionRecord) -> bool:
        self._check_open()
        if record.id in self._sessions:
            return False
        await self.update_session(record)
        return True

    async def update_session(self, record: SessionRecord) -> None:
        self._check_open()
        self._sessions[record.id] = _copy(record)
        if self._max_sessions is not None and len(self._sessions) > self._max_sessions:
            self._delete(min(self._sessions.values(), key=_session_key).id)

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        self._check_open()
        check_fields(changes)
        if session_id not in self._sessions:
            return None
        self._sessions[session_id] = replace(self._sessions[session_id], **_copy_json(changes))
        return _copy(self._sessions[session_id])

    async def delete_session(self, session_id: str) -> bool:
        self._check_open()
        return self._delete(session_id)

    async def insert_event(self, event: EventRecord) -> EventRecord:
        return (await self.insert_events([event]))[0]

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        self._check_open()
        answer: list[EventRecord] = []
        fresh: dict[str, _Stored] = {}
        taken: set[tuple[str, int]] = set()
        last: dict[str, int] = {}
        for event in events:
            known = fresh.get(event.id) or self._by_id.get(event.id)
            if known is not None:
                if known.session_id != event.session_id or event.event_index not in (0, known.event_index):
                    raise EventConflictError(event.session_id, event.event_index, event.id)
                answer.append(known.record())
                continue
            log = self._logs.get(event.session_id) or _SessionEvents()
            highest = last.get(event.session_id, log.last_index)
            index = event.event_index or highest + 1
            if (event.session_id, index) in taken or index in log.by_index:
                raise EventConflictError(event.session_id, index, event.id)
            taken.add((event.session_id, index))
            last[event.session_id] = max(highest, index)
            fresh[event.id] = _Stored(
                index,
                event.session_id,
                event.sender,
                event.created_at,
                event.connection_id,
                event.id,
                json_codec.encode_text(event.payload),
            )
            answer.append(structs.replace(event, event_index=index))
        for stored in fresh.values():
            self._add(stored)
        return answer

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
        log = self._logs.get(session_id) or _SessionEvents()
        # Positions in the sorted indexes: a page costs the same at the start and at the end of a long log.
        first, end = bisect_right(log.indexes, after_index), len(log.indexes)
        if cursor is not None:
            position = read_event_cursor(cursor)
            if order == "asc":
                first = max(first, bisect_right(log.indexes, position))
            else:
                end = bisect_left(log.indexes, position)
            offset = 0
        if order == "asc":
            wanted = log.indexes[first + offset : first + offset + limit + 1]
        else:
            wanted = log.indexes[max(first, end - offset - limit - 1) : max(first, end - offset)][::-1]
        items = [log.by_index[i].record() for i in wanted[:limit]]
        return Page(items, str(items[-1].event_index) if len(wanted) > limit else None)

    async def count_events(self, session_id: str) -> int:
        self._check_open()
        return len(self._logs[session_id].indexes) if session_id in self._logs else 0

    async def max_event_index(self, session_id: str) -> int:
        self._check_open()
        return self._logs[session_id].last_index if session_id in self._logs else 0

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._check_open()
        self._checkpoints.setdefault(checkpoint.session_id, {})[checkpoint.event_index] = checkpoint

    async def find_checkpoint(
        self, session_id: str, version: str, *, max_sequence: int | None = None
    ) -> Checkpoint | None:
        self._check_open()
        return max(
            (
                one
                for one in self._checkpoints.get(session_id, {}).values()
                if one.version == version and (max_sequence is None or one.sequence <= max_sequence)
            ),
            key=lambda one: one.event_index,
            default=None,
        )

    async def close(self) -> None:
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosedError("the store is closed")

    def _add(self, stored: _Stored) -> None:
        log = self._logs.setdefault(stored.session_id, _SessionEvents())
        log.by_index[stored.event_index] = stored
        insort(log.indexes, stored.event_index)
        log.last_index = max(log.last_index, stored.event_index)
        self._by_id[stored.id] = stored
        while self._max_events is not None and len(log.indexes) > self._max_events:
            dropped = log.by_index.pop(log.indexes.pop(0))
            del self._by_id[dropped.id]

    def _delete(self, session_id: str) -> bool:
        log = self._logs.pop(session_id, None)
        self._checkpoints.pop(session_id, None)
        for stored in log.by_index.values() if log else ():
            del self._by_id[stored.id]
        return self._sessions.pop(session_id, None) is not None or log is not None


def _session_key(record: SessionRecord) -> tuple[int, str]:
    return record.created_at, record.id


def _copy(record: SessionRecord) -> SessionRecord:
    return replace(record, **{name: _copy_json(getattr(record, name)) for name in _JSON_FIELDS})


def _copy_json(value: Any) -> Any:
    """A copy of a JSON value, in half the time that `deepcopy` takes."""
    if isinstance(value, dict):
        return {key: _copy_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copy_json(one) for one in value]
    if value is None or isinstance(value, str | int | float):
        return value
    return copy.deepcopy(value)
