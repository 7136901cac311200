"""The store in one SQLite file, for one or several programs on the same machine.

The database is opened on first use and runs in a thread of its own, so the event loop never waits for the
disk. Cancelling a caller does not interrupt work that has begun; work that has not begun is dropped.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox_agent.sdk.stores.database_store import DatabaseStore
from sandbox_agent.sdk.stores.store_errors import StoreClosedError

if TYPE_CHECKING:
    from sandbox_agent.sdk.stores.sqlite_database import SqliteDatabase

T = TypeVar("T")

BUSY_TIMEOUT_S = 30.0
"""How long a write waits for writers of other processes."""


class SqliteStore(DatabaseStore):
    """Keeps sessions and events in a file; missing parent directories are created."""

    def __init__(self, path: str | os.PathLike[str], *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = os.fspath(path)
        self._busy_timeout_s = busy_timeout_s
        self._database: SqliteDatabase | None = None
        self._closed = False
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sandbox-agent-sqlite")

    def __repr__(self) -> str:
        return f"<SqliteStore {self.path!r}{', closed' if self._closed else ''}>"

    async def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            closing = self._thread.submit(self._close_database)
        self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closing))

    async def _run(self, job: Callable[[SqliteDatabase], Any]) -> Any:
        with self._lock:
            if self._closed:
                raise StoreClosedError(f"the store {self.path} is closed")
            running = self._thread.submit(self._on_thread, job)
        return await asyncio.wrap_future(running)

    def _on_thread(self, work: Callable[[SqliteDatabase], T]) -> T:
        # sqlite3 is loaded on first use: programs with another store do not need it.
        from sandbox_agent.sdk.stores.sqlite_database import SqliteDatabase, typed_errors

        with typed_errors(self.path):
            if self._database is None:
                self._database = SqliteDatabase(self.path, self._busy_timeout_s)
            return work(self._database)

    def _close_database(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
