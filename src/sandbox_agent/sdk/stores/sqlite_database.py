"""The SQLite file: schema and queries, for one thread.

In WAL mode processes read while another writes; writers take turns. Every write is one transaction that
holds the write lock from its first statement, so a process that dies in the middle leaves the file
unchanged, and two writers never choose the same index for an event.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import astuple

from sandbox_agent.sdk.stores.columns import (
    ADDED_SESSION_COLUMNS,
    CHECKPOINT_COLUMNS,
    EVENT_COLUMNS,
    SCHEMA_VERSION,
    SESSION_COLUMNS,
    TYPES_SQLITE,
    create_statements,
    session_record,
)
from sandbox_agent.sdk.stores.cursors import session_cursor
from sandbox_agent.sdk.stores.event_rows import EncodedEvent, conflict, event_record, place_events
from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, SessionRecord
from sandbox_agent.sdk.stores.store_errors import (
    StoreCorruptError,
    StoreUnavailableError,
    StoreVersionError,
)

_SESSIONS = ", ".join(SESSION_COLUMNS)
_EVENTS = ", ".join(EVENT_COLUMNS)
_NEW_SESSION = f"INSERT INTO sessions ({_SESSIONS}) VALUES ({', '.join('?' for _ in SESSION_COLUMNS)}) "  # noqa: S608 fixed names
_INSERT_SESSION = f"{_NEW_SESSION} ON CONFLICT (id) DO NOTHING"
_UPSERT_SESSION = (
    f"{_NEW_SESSION}"
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in SESSION_COLUMNS[1:])}"
)
_INSERT_EVENT = f"INSERT INTO events ({_EVENTS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 fixed names
_CHECKPOINTS = ", ".join(CHECKPOINT_COLUMNS)
_SAVE_CHECKPOINT = f"INSERT OR REPLACE INTO sandbox_agent_checkpoints ({_CHECKPOINTS}) VALUES (?, ?, ?, ?, ?)"  # noqa: S608 fixed names
_FIND_CHECKPOINT = (
    f"SELECT {_CHECKPOINTS} FROM sandbox_agent_checkpoints "  # noqa: S608 fixed names
    "WHERE session_id = ? AND version = ? AND sequence <= ? ORDER BY event_index DESC LIMIT 1"
)
_WAL_RETRY_S = 0.05
# SQLite before 3.32 takes 999 values in a statement.
_VARIABLES = 512


class SqliteDatabase:
    """An open file; all methods are called in the thread that opened it."""

    def __init__(self, path: str, busy_timeout_s: float) -> None:
        if path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        # Autocommit: this class begins and ends transactions, not the driver.
        self._db = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None)
        try:
            self._set_wal_mode(busy_timeout_s)
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._prepare_schema(path)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def get_session(self, session_id: str) -> SessionRecord | None:
        query = f"SELECT {_SESSIONS} FROM sessions WHERE id = ?"  # noqa: S608 fixed names
        row = self._db.execute(query, (session_id,)).fetchone()
        return session_record(row) if row else None

    def list_sessions(
        self, position: tuple[int, str] | None, limit: int, order: Order, archived: bool | None
    ) -> Page[SessionRecord]:
        after, direction = (">", "ASC") if order == "asc" else ("<", "DESC")
        conditions = ["1"]
        if position is not None:
            conditions.append(f"(created_at, id) {after} (?, ?)")
        if archived is not None:
            conditions.append("archived_at IS NOT NULL" if archived else "archived_at IS NULL")
        query = (
            f"SELECT {_SESSIONS} FROM sessions WHERE {' AND '.join(conditions)} "  # noqa: S608 fixed names
            f"ORDER BY created_at {direction}, id {direction} LIMIT ?"
        )
        rows = self._db.execute(query, (*(position or ()), limit + 1)).fetchall()
        items = [session_record(row) for row in rows[:limit]]
        more = len(rows) > limit
        return Page(items, session_cursor(items[-1].created_at, items[-1].id) if more else None)

    def insert_session(self, row: Sequence[Any]) -> bool:
        with self._transaction():
            return self._db.execute(_INSERT_SESSION, row).rowcount > 0

    def upsert_session(self, row: Sequence[Any]) -> None:
        with self._transaction():
            self._db.execute(_UPSERT_SESSION, row)

    def patch_session(self, session_id: str, values: dict[str, Any]) -> SessionRecord | None:
        with self._transaction():
            if values:
                changes = ", ".join(f"{column} = ?" for column in values)
                query = f"UPDATE sessions SET {changes} WHERE id = ?"  # noqa: S608 checked names
                self._db.execute(query, (*values.values(), session_id))
            return self.get_session(session_id)

    def delete_session(self, session_id: str) -> bool:
        with self._transaction():
            self._db.execute("DELETE FROM sandbox_agent_checkpoints WHERE session_id = ?", (session_id,))
            events = self._db.execute("DELETE FROM events WHERE session_id = ?", (session_id,)).rowcount
            return self._db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount + events > 0

    def insert_events(self, events: Sequence[EncodedEvent]) -> list[EventRecord]:
        with self._transaction():
            last = {session_id: self.max_event_index(session_id) for session_id in _sessions_of(events)}
            answer, rows = place_events(events, self._known([event.id for event, _ in events]), last)
            try:
                self._db.executemany(_INSERT_EVENT, map(astuple, rows))
            except sqlite3.IntegrityError as error:
                raise conflict(events) from error
            return answer

    def list_events(
        self, session_id: str, after_index: int, offset: int, limit: int, position: int | None, order: Order
    ) -> Page[EventRecord]:
        conditions, values = ["session_id = ?", "event_index > ?"], [session_id, after_index]
        if position is not None:
            conditions.append("event_index > ?" if order == "asc" else "event_index < ?")
            values.append(position)
        query = (
            f"SELECT {_EVENTS} FROM events WHERE {' AND '.join(conditions)} "  # noqa: S608 fixed names
            f"ORDER BY event_index {'ASC' if order == 'asc' else 'DESC'} LIMIT ? OFFSET ?"
        )
        skipped = offset if position is None else 0
        rows = self._db.execute(query, (*values, limit + 1, skipped)).fetchall()
        items = [event_record(row) for row in rows[:limit]]
        return Page(items, str(items[-1].event_index) if len(rows) > limit else None)

    def count_events(self, session_id: str) -> int:
        return self._number("SELECT count(*) FROM events WHERE session_id = ?", session_id)

    def max_event_index(self, session_id: str) -> int:
        return self._number(
            "SELECT coalesce(max(event_index), 0) FROM events WHERE session_id = ?", session_id
        )

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        with self._transaction():
            self._db.execute(_SAVE_CHECKPOINT, astuple(checkpoint))

    def find_checkpoint(self, session_id: str, version: str, max_sequence: int) -> Checkpoint | None:
        row = self._db.execute(_FIND_CHECKPOINT, (session_id, version, max_sequence)).fetchone()
        return Checkpoint(**dict(zip(CHECKPOINT_COLUMNS, row, strict=True))) if row else None

    def _known(self, ids: list[str]) -> dict[str, EventRecord]:
        """The events of these ids that are stored."""
        found: dict[str, EventRecord] = {}
        for start in range(0, len(ids), _VARIABLES):
            some = ids[start : start + _VARIABLES]
            marks = ", ".join("?" for _ in some)
            rows = self._db.execute(f"SELECT {_EVENTS} FROM events WHERE id IN ({marks})", some)  # noqa: S608 fixed names
            found.update((record.id, record) for record in map(event_record, rows))
        return found

    def _number(self, query: str, value: str) -> int:
        return int(self._db.execute(query, (value,)).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _set_wal_mode(self, busy_timeout_s: float) -> None:
        # PRAGMA journal_mode does not honour the busy time-out; two processes may open a new file at once.
        deadline = time.monotonic() + busy_timeout_s
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(_WAL_RETRY_S)

    def _prepare_schema(self, path: str) -> None:
        if self._schema_version(path) == SCHEMA_VERSION:
            return
        with self._transaction():
            if self._schema_version(path) == SCHEMA_VERSION:
                return
            for statement in create_statements(TYPES_SQLITE):
                self._db.execute(statement)
            present = {row[1] for row in self._db.execute("PRAGMA table_info(sessions)")}
            for column, kind in ADDED_SESSION_COLUMNS.items():
                if column not in present:
                    self._db.execute(f"ALTER TABLE sessions ADD COLUMN {column} {TYPES_SQLITE[kind]}")
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _schema_version(self, path: str) -> int:
        version = int(self._db.execute("PRAGMA user_version").fetchone()[0])
        if version > SCHEMA_VERSION:
            raise StoreVersionError(path, version, SCHEMA_VERSION)
        return version


@contextmanager
def typed_errors(path: str) -> Iterator[None]:
    """Convert exceptions of the driver and the file system to store errors."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is not None and code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise StoreCorruptError(f"{path} is damaged or is not an SQLite file: {error}") from error
        raise StoreUnavailableError(f"{path}: {error}") from error
    except OSError as error:
        raise StoreUnavailableError(f"{path}: {error}") from error
    except ValueError as error:
        raise StoreCorruptError(f"{path} holds data that cannot be read: {error}") from error


def _sessions_of(events: Sequence[EncodedEvent]) -> set[str]:
    return {event.session_id for event, _ in events}
