"""The Postgres tables: schema and queries, on one connection.

`payload_json` is JSONB, as in the reference's driver. JSONB does not keep key order and refuses some legal
JSON (U+0000, lone surrogates), so `payload_text` keeps the exact text; rows without it, written by other
programs, are read from `payload_json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from msgspec.structs import asdict, astuple
from psycopg import AsyncConnection, AsyncCursor, AsyncPipeline, errors

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.columns import (
    ADDED_SESSION_COLUMNS,
    CHECKPOINT_COLUMNS,
    EVENT_COLUMNS,
    SCHEMA_VERSION,
    SESSION_COLUMNS,
    TYPES_POSTGRES,
    create_statements,
    session_record,
)
from sandbox_agent.sdk.stores.cursors import session_cursor
from sandbox_agent.sdk.stores.event_rows import EncodedEvent, EventRow, conflict, event_record, place_events
from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, SessionRecord
from sandbox_agent.sdk.stores.store_errors import StoreVersionError

_SELECTED_SESSION = ", ".join(f"{name}::text" if name.endswith("_json") else name for name in SESSION_COLUMNS)
_RETRIES = 3
"""Attempts to insert: another program may take an index without our lock."""
_SCHEMA_LOCK = 0x5A4D_4241
"""The advisory lock under which one program at a time prepares the tables."""


class PostgresDatabase:
    """The store's tables in one schema, reached through one connection in autocommit mode."""

    def __init__(self, connection: AsyncConnection[tuple[Any, ...]], schema: str) -> None:
        self._connection = connection
        self._schema = schema
        self._prefix = f'"{schema}".'

    async def prepare(self) -> None:
        """Create missing tables and columns; existing data is kept."""
        async with self._connection.transaction():
            await self._execute("SELECT pg_advisory_xact_lock(%s)", _SCHEMA_LOCK)
            await self._execute(f'CREATE SCHEMA IF NOT EXISTS "{self._schema}"')
            await self._execute(
                f"CREATE TABLE IF NOT EXISTS {self._prefix}sandbox_agent_schema (version INTEGER NOT NULL)"
            )
            rows = await self._execute(f"SELECT max(version) FROM {self._prefix}sandbox_agent_schema")  # noqa: S608 checked name
            version = rows[0][0] or 0
            if version > SCHEMA_VERSION:
                raise StoreVersionError(f"schema {self._schema!r}", version, SCHEMA_VERSION)
            if version == SCHEMA_VERSION:
                return
            for statement in create_statements(TYPES_POSTGRES, self._prefix):
                await self._execute(statement)
            for column, kind in ADDED_SESSION_COLUMNS.items():
                await self._execute(
                    f"ALTER TABLE {self._prefix}sessions "
                    f"ADD COLUMN IF NOT EXISTS {column} {TYPES_POSTGRES[kind]}"
                )
            await self._execute(
                f"ALTER TABLE {self._prefix}events ADD COLUMN IF NOT EXISTS payload_text TEXT"
            )
            await self._execute(
                f"INSERT INTO {self._prefix}sandbox_agent_schema VALUES (%s)",  # noqa: S608 checked name
                SCHEMA_VERSION,
            )

    async def get_session(self, session_id: str) -> SessionRecord | None:
        rows = await self._execute(f"{self._select_sessions} WHERE id = %s", session_id)
        return session_record(rows[0]) if rows else None

    async def list_sessions(
        self, position: tuple[int, str] | None, limit: int, order: Order, archived: bool | None
    ) -> Page[SessionRecord]:
        after, direction = (">", "ASC") if order == "asc" else ("<", "DESC")
        conditions = ["true"]
        if position is not None:
            conditions.append(f'(created_at, id COLLATE "C") {after} (%s, %s)')
        if archived is not None:
            conditions.append("archived_at IS NOT NULL" if archived else "archived_at IS NULL")
        rows = await self._execute(
            f"{self._select_sessions} WHERE {' AND '.join(conditions)} "
            f'ORDER BY created_at {direction}, id COLLATE "C" {direction} LIMIT %s',
            *(position or ()),
            limit + 1,
        )
        items = [session_record(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items, session_cursor(items[-1].created_at, items[-1].id) if more else None)

    async def insert_session(self, row: Sequence[Any]) -> bool:
        return bool(await self._put_session(row, "NOTHING"))

    async def upsert_session(self, row: Sequence[Any]) -> None:
        changes = ", ".join(f"{name} = excluded.{name}" for name in SESSION_COLUMNS[1:])
        await self._put_session(row, f"UPDATE SET {changes}")

    async def _put_session(self, row: Sequence[Any], on_conflict: str) -> list[Any]:
        marks = ", ".join(_mark(column) for column in SESSION_COLUMNS)
        return await self._execute(
            f"INSERT INTO {self._prefix}sessions ({', '.join(SESSION_COLUMNS)}) VALUES ({marks}) "  # noqa: S608 fixed names
            f"ON CONFLICT (id) DO {on_conflict} RETURNING id",
            *(_storable(column, value) for column, value in zip(SESSION_COLUMNS, row, strict=True)),
        )

    async def patch_session(self, session_id: str, values: dict[str, Any]) -> SessionRecord | None:
        if not values:
            return await self.get_session(session_id)
        changes = ", ".join(f"{column} = {_mark(column)}" for column in values)
        rows = await self._execute(
            f"UPDATE {self._prefix}sessions SET {changes} WHERE id = %s RETURNING {_SELECTED_SESSION}",  # noqa: S608 checked names
            *(_storable(column, value) for column, value in values.items()),
            session_id,
        )
        return session_record(rows[0]) if rows else None

    async def delete_session(self, session_id: str) -> bool:
        async with self._connection.transaction():
            await self._execute(
                f"DELETE FROM {self._prefix}sandbox_agent_checkpoints WHERE session_id = %s",  # noqa: S608 checked name
                session_id,
            )
            events = await self._execute(
                f"DELETE FROM {self._prefix}events WHERE session_id = %s RETURNING 1",  # noqa: S608 checked name
                session_id,
            )
            sessions = await self._execute(
                f"DELETE FROM {self._prefix}sessions WHERE id = %s RETURNING 1",  # noqa: S608 checked name
                session_id,
            )
            return bool(events or sessions)

    async def insert_events(self, events: Sequence[EncodedEvent]) -> list[EventRecord]:
        for _ in range(_RETRIES):
            try:
                # Two round trips: lock and read, then insert and commit.
                async with self._pipeline(), self._connection.transaction():
                    return await self._insert_events(events)
            except errors.UniqueViolation:
                if any(event.event_index for event, _ in events):
                    break
        raise conflict(events)

    async def list_events(
        self, session_id: str, after_index: int, offset: int, limit: int, position: int | None, order: Order
    ) -> Page[EventRecord]:
        conditions, values = ["session_id = %s", "event_index > %s"], [session_id, after_index]
        if position is not None:
            conditions.append("event_index > %s" if order == "asc" else "event_index < %s")
            values.append(position)
        rows = await self._execute(
            f"{self._select_events} WHERE {' AND '.join(conditions)} "
            f"ORDER BY event_index {'ASC' if order == 'asc' else 'DESC'} LIMIT %s OFFSET %s",
            *values,
            limit + 1,
            offset if position is None else 0,
        )
        items = [event_record(row) for row in rows[:limit]]
        return Page(items, str(items[-1].event_index) if len(rows) > limit else None)

    async def count_events(self, session_id: str) -> int:
        rows = await self._execute(
            f"SELECT count(*) FROM {self._prefix}events WHERE session_id = %s",  # noqa: S608 checked name
            session_id,
        )
        return int(rows[0][0])

    async def max_event_index(self, session_id: str) -> int:
        rows = await self._execute(
            f"SELECT coalesce(max(event_index), 0) FROM {self._prefix}events WHERE session_id = %s",  # noqa: S608 checked name
            session_id,
        )
        return int(rows[0][0])

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        changes = ", ".join(f"{name} = excluded.{name}" for name in CHECKPOINT_COLUMNS[2:])
        await self._execute(
            f"INSERT INTO {self._prefix}sandbox_agent_checkpoints ({', '.join(CHECKPOINT_COLUMNS)}) "  # noqa: S608 fixed names
            f"VALUES (%s, %s, %s, %s, %s) ON CONFLICT (session_id, event_index) DO UPDATE SET {changes}",
            *astuple(checkpoint),
        )

    async def find_checkpoint(self, session_id: str, version: str, max_sequence: int) -> Checkpoint | None:
        rows = await self._execute(
            f"SELECT {', '.join(CHECKPOINT_COLUMNS)} FROM {self._prefix}sandbox_agent_checkpoints "  # noqa: S608 fixed names
            "WHERE session_id = %s AND version = %s AND sequence <= %s ORDER BY event_index DESC LIMIT 1",
            session_id,
            version,
            max_sequence,
        )
        return Checkpoint(**dict(zip(CHECKPOINT_COLUMNS, rows[0], strict=True))) if rows else None

    async def _insert_events(self, events: Sequence[EncodedEvent]) -> list[EventRecord]:
        sessions = sorted({event.session_id for event, _ in events})
        for session_id in sessions:  # in order, so that two writers never deadlock
            await self._send("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", session_id)
        highest = await self._send(
            f"SELECT session_id, max(event_index) FROM {self._prefix}events "  # noqa: S608 checked name
            "WHERE session_id = ANY(%s) GROUP BY session_id",
            sessions,
        )
        stored = await self._send(
            f"{self._select_events} WHERE id = ANY(%s)", [event.id for event, _ in events]
        )
        last = {session_id: int(index) for session_id, index in await highest.fetchall()}
        known = {record.id: record for record in map(event_record, await stored.fetchall())}
        answer, rows = place_events(events, known, last)
        if rows:
            # One JSON text for all rows: psycopg writes an array of texts three times as slowly.
            await self._send(
                f"INSERT INTO {self._prefix}events ({', '.join(EVENT_COLUMNS)}, payload_text) "  # noqa: S608 fixed names
                "SELECT id, event_index, session_id, created_at, connection_id, sender, "
                "coalesce(cleaned, payload_json)::jsonb, payload_json FROM json_to_recordset(%s::json) AS "
                "fresh(id text, event_index bigint, session_id text, created_at bigint, connection_id text, "
                "sender text, payload_json text, cleaned text)",
                json_codec.encode_text([_insertable(row) for row in rows]),
            )
        return answer

    def _pipeline(self) -> AbstractAsyncContextManager[Any]:
        # libpq before 14 has no pipelines: every statement is a round trip then.
        return self._connection.pipeline() if AsyncPipeline.is_supported() else nullcontext()

    async def _send(self, query: str, *values: Any) -> AsyncCursor[tuple[Any, ...]]:
        """Send a statement; in a pipeline nothing is awaited before its rows are fetched."""
        return await self._connection.execute(query.encode(), values)

    @property
    def _select_sessions(self) -> str:
        return f"SELECT {_SELECTED_SESSION} FROM {self._prefix}sessions"  # noqa: S608 fixed names

    @property
    def _select_events(self) -> str:
        columns = ", ".join(EVENT_COLUMNS[:-1])
        return (
            f"SELECT {columns}, coalesce(payload_text, payload_json::text) "  # noqa: S608 fixed names
            f"FROM {self._prefix}events"
        )

    async def _execute(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        cursor = await self._send(query, *values)
        return await cursor.fetchall() if cursor.description is not None else []


def jsonb_text(text: str) -> str:
    """A JSON text that JSONB accepts: characters it refuses are replaced by U+FFFD."""
    if "\\u0000" not in text and "\\ud" not in text:
        return text
    return json_codec.encode_text(_clean(json_codec.decode(text)))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    return value


def _insertable(row: EventRow) -> EventRow | dict[str, Any]:
    cleaned = jsonb_text(row.payload_json)
    return row if cleaned == row.payload_json else {**asdict(row), "cleaned": cleaned}


def _mark(column: str) -> str:
    return "%s::jsonb" if column.endswith("_json") else "%s"


def _storable(column: str, value: Any) -> Any:
    return jsonb_text(value) if column.endswith("_json") and isinstance(value, str) else value
