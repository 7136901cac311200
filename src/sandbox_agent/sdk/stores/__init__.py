"""Stores for sessions and their messages: memory, SQLite, Postgres.

Importing this package loads none of the database drivers; each store loads its own when it is used.
"""

from __future__ import annotations

from .errors import (
    EventConflictError,
    StoreClosedError,
    StoreCorruptError,
    StoreDependencyError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
)
from .memory import MemoryStore
from .postgres import PostgresStore
from .protocol import SessionStore
from .records import EventRecord, Order, Page, Sender, SessionRecord
from .sqlite import SqliteStore

# The names of the TypeScript SDK's records and drivers.
SessionEvent = EventRecord
PersistDriver = SessionStore
MemoryPersist = MemoryStore
SQLitePersist = SqliteStore
PostgresPersist = PostgresStore

__all__ = [
    "EventConflictError",
    "EventRecord",
    "MemoryPersist",
    "MemoryStore",
    "Order",
    "Page",
    "PersistDriver",
    "PostgresPersist",
    "PostgresStore",
    "SQLitePersist",
    "Sender",
    "SessionEvent",
    "SessionRecord",
    "SessionStore",
    "SqliteStore",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreDependencyError",
    "StoreError",
    "StoreUnavailableError",
    "StoreVersionError",
]
