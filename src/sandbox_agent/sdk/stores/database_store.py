"""The base class of stores over a database: checks arguments, makes rows, runs one job per call.

A subclass implements how a job reaches its database (`_run`) and how it is closed. A job is a function of
the database object; the subclass decides whether its result is awaited.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.columns import JSON_FIELDS, check_fields, field_value, session_row
from sandbox_agent.sdk.stores.cursors import check_limit, read_event_cursor, read_session_cursor
from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, SessionRecord
from sandbox_agent.sdk.stores.session_store import DEFAULT_LIMIT

LARGEST_INTEGER = 2**63 - 1
Self = TypeVar("Self", bound="DatabaseStore")


class DatabaseStore(ABC):
    """The methods of `SessionStore`, each as one job on a database."""

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def _run(self, job: Callable[[Any], Any]) -> Any:
        """Run a job on the database and return its result."""

    @abstractmethod
    async def close(self) -> None: ...

    async def get_session(self, session_id: str) -> SessionRecord | None:
        found: SessionRecord | None = await self._run(lambda db: db.get_session(session_id))
        return found

    async def list_sessions(
        self,
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        order: Order = "asc",
        archived: bool | None = None,
    ) -> Page[SessionRecord]:
        check_limit(limit)
        position = read_session_cursor(cursor) if cursor is not None else None
        page: Page[SessionRecord] = await self._run(
            lambda db: db.list_sessions(position, limit, order, archived)
        )
        return page

    async def insert_session(self, record: SessionRecord) -> bool:
        row = session_row(record)
        inserted: bool = await self._run(lambda db: db.insert_session(row))
        return inserted

    async def update_session(self, record: SessionRecord) -> None:
        row = session_row(record)
        await self._run(lambda db: db.upsert_session(row))

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        check_fields(changes)
        values = {JSON_FIELDS.get(key, key): field_value(key, value) for key, value in changes.items()}
        patched: SessionRecord | None = await self._run(lambda db: db.patch_session(session_id, values))
        return patched

    async def delete_session(self, session_id: str) -> bool:
        deleted: bool = await self._run(lambda db: db.delete_session(session_id))
        return deleted

    async def insert_event(self, event: EventRecord) -> EventRecord:
        return (await self.insert_events([event]))[0]

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        # Encoded before the first await, so that later changes by the caller have no effect.
        encoded = [(event, json_codec.encode_text(event.payload)) for event in events]
        inserted: list[EventRecord] = await self._run(lambda db: db.insert_events(encoded))
        return inserted

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
        check_limit(limit)
        position = read_event_cursor(cursor) if cursor is not None else None
        page: Page[EventRecord] = await self._run(
            lambda db: db.list_events(session_id, after_index, offset, limit, position, order)
        )
        return page

    async def count_events(self, session_id: str) -> int:
        count: int = await self._run(lambda db: db.count_events(session_id))
        return count

    async def max_event_index(self, session_id: str) -> int:
        index: int = await self._run(lambda db: db.max_event_index(session_id))
        return index

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        await self._run(lambda db: db.save_checkpoint(checkpoint))

    async def find_checkpoint(
        self, session_id: str, version: str, *, max_sequence: int | None = None
    ) -> Checkpoint | None:
        limit = LARGEST_INTEGER if max_sequence is None else max_sequence
        found: Checkpoint | None = await self._run(lambda db: db.find_checkpoint(session_id, version, limit))
        return found
