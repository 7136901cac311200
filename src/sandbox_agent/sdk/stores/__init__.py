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

__all__ = [
    "EventConflictError",
    "EventRecord",
    "MemoryStore",
    "Order",
    "Page",
    "PostgresStore",
    "Sender",
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
