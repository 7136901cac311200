"""The store in Postgres, for programs on several machines.

It needs the extra `sandbox-agent[postgres]` and connects on first use. It owns up to eight connections, or
borrows from a pool. Every write completes even if its caller is cancelled. A call on a lost connection is
repeated once on another, which is safe because every write is idempotent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox_agent.sdk.stores.database_store import DatabaseStore
from sandbox_agent.sdk.stores.postgres_connections import PostgresConnections
from sandbox_agent.sdk.stores.store_errors import (
    StoreClosedError,
    StoreDependencyError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from sandbox_agent.sdk.stores.postgres_database import PostgresDatabase

T = TypeVar("T")
_SCHEMA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


class PostgresStore(DatabaseStore):
    """Keeps sessions and events in a Postgres database.

    `dsn` is a connection string; `pool` is a `psycopg_pool.AsyncConnectionPool` of the caller, which is not
    closed. `schema` is created if it is missing.
    """

    def __init__(self, dsn: str | None = None, *, pool: Any = None, schema: str = "public") -> None:
        if (dsn is None) == (pool is None):
            raise ValueError("give a dsn or a pool")
        if not _SCHEMA_NAME.fullmatch(schema):
            raise ValueError(f"not a plain schema name: {schema!r}")
        self._connections = PostgresConnections(dsn, pool)
        self._schema = schema
        self._prepared = False
        self._preparing = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    def __repr__(self) -> str:
        # Without the connection string, which may have a password.
        return f"<PostgresStore, schema {self._schema!r}{', closed' if self._closed else ''}>"

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        await self._connections.close()

    async def _run(self, job: Callable[[PostgresDatabase], Any]) -> Any:
        if self._closed:
            raise StoreClosedError("the store is closed")
        return await self._uncancelled(self._attempt(job))

    async def _uncancelled(self, work: Coroutine[Any, Any, T]) -> T:
        # Cancelling a running query would leave the connection in an undefined state.
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _attempt(self, work: Callable[[PostgresDatabase], Awaitable[T]]) -> T:
        psycopg, database = _load_driver()
        for last_try in (False, True):
            connection = None
            try:
                async with self._connections.lend() as connection:
                    db = database(connection, self._schema)
                    await self._prepare(db)
                    return await work(db)
            except psycopg.OperationalError as error:
                broke = connection is not None and connection.closed
                if last_try or not broke or not self._connections.owned:
                    raise StoreUnavailableError(f"Postgres: {str(error).strip()}") from error
            except psycopg.Error as error:
                raise StoreUnavailableError(f"Postgres: {str(error).strip()}") from error
        raise AssertionError("the last try returns or raises")

    async def _prepare(self, db: PostgresDatabase) -> None:
        if self._prepared:
            return
        async with self._preparing:
            if not self._prepared:
                await db.prepare()
                self._prepared = True


def _load_driver() -> tuple[Any, type[PostgresDatabase]]:
    try:
        # Loaded on first use: only programs that use Postgres need the driver.
        import psycopg

        from sandbox_agent.sdk.stores.postgres_database import PostgresDatabase
    except ImportError as error:
        raise StoreDependencyError(
            "PostgresStore needs psycopg: pip install 'sandbox-agent[postgres]'"
        ) from error
    return psycopg, PostgresDatabase
