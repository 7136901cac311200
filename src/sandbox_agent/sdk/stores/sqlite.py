"""A store in one SQLite file, for one program or several on the same machine.

The database is opened at the first use and lives on a thread of its own, so the event loop never waits
for the disk. A waiter that is cancelled leaves work that has begun running to its end; work that has
not begun is dropped.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from .columns import JSON_FIELDS, check_fields, field_value, session_row
from .errors import StoreClosedError
from .paging import check_limit, read_event_cursor, read_session_cursor
from .payload import to_text
from .protocol import DEFAULT_LIMIT
from .records import EventRecord, Order, Page, SessionRecord

if TYPE_CHECKING:
    from .sqlite_database import SqliteDatabase

T = TypeVar("T")

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for the writers of other processes before it gives up."""


class SqliteStore:
    """Keeps sessions and events in a file; missing parent directories are made."""

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = os.fspath(path)
        self._busy_timeout_s = busy_timeout_s
        self._database: SqliteDatabase | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-agent-sqlite")

    async def __aenter__(self) -> SqliteStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def get_session(self, session_id: str) -> SessionRecord | None:
        return await self._run(lambda db: db.get_session(session_id))

    async def list_sessions(
        self,
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        order: Order = "asc",
        archived: bool | None = None,
    ) -> Page[SessionRecord]:
        check_limit(limit)
        place = read_session_cursor(cursor) if cursor is not None else None
        return await self._run(lambda db: db.list_sessions(place, limit, order, archived))

    async def update_session(self, record: SessionRecord) -> None:
        row = session_row(record)
        await self._run(lambda db: db.upsert_session(row))

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        check_fields(changes)
        values = {JSON_FIELDS.get(key, key): field_value(key, value) for key, value in changes.items()}
        return await self._run(lambda db: db.patch_session(session_id, values))

    async def delete_session(self, session_id: str) -> bool:
        return await self._run(lambda db: db.delete_session(session_id))

    async def insert_event(self, event: EventRecord) -> EventRecord:
        return (await self.insert_events([event]))[0]

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        # Encoded here, so that the payload is what it was when the caller handed it over.
        encoded = [(event, to_text(event.payload)) for event in events]
        return await self._run(lambda db: db.insert_events(encoded))

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
        place = read_event_cursor(cursor) if cursor is not None else None
        return await self._run(
            lambda db: db.list_events(session_id, after_index, offset, limit, place, order)
        )

    async def count_events(self, session_id: str) -> int:
        return await self._run(lambda db: db.count_events(session_id))

    async def max_event_index(self, session_id: str) -> int:
        return await self._run(lambda db: db.max_event_index(session_id))

    async def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            closing = self._thread.submit(self._close_database)
        self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closing))

    async def _run(self, work: Callable[[SqliteDatabase], T]) -> T:
        with self._lock:
            if self._closed:
                raise StoreClosedError(f"the store {self.path} is closed")
            job = self._thread.submit(self._on_thread, work)
        return await asyncio.wrap_future(job)

    def _on_thread(self, work: Callable[[SqliteDatabase], T]) -> T:
        # sqlite3 is loaded at first use: programs with another store never pay for it.
        from .sqlite_database import SqliteDatabase, typed_errors

        with typed_errors(self.path):
            if self._database is None:
                self._database = SqliteDatabase(self.path, self._busy_timeout_s)
            return work(self._database)

    def _close_database(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
