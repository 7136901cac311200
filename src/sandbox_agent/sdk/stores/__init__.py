"""Stores for sessions and their messages: memory, SQLite, Postgres.

Importing this package loads no database driver; each store loads its own on first use.
"""

from __future__ import annotations

from sandbox_agent.sdk.stores.memory_store import MemoryStore
from sandbox_agent.sdk.stores.postgres_store import PostgresStore
from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, Sender, SessionRecord
from sandbox_agent.sdk.stores.session_store import CheckpointStore, SessionStore
from sandbox_agent.sdk.stores.sqlite_store import SqliteStore
from sandbox_agent.sdk.stores.store_errors import (
    EventConflictError,
    StoreClosedError,
    StoreCorruptError,
    StoreDependencyError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
)

__all__ = [
    "Checkpoint",
    "CheckpointStore",
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
