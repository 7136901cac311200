"""The store in Postgres, for programs on several machines.

It needs the extra `sandbox-agent[postgres]` and connects on first use. It owns one connection, or borrows
from a pool. Every write completes even if its caller is cancelled. A lost connection is reopened once per
call, which is safe because every write is idempotent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox_agent.sdk.stores.database_store import DatabaseStore
from sandbox_agent.sdk.stores.store_errors import (
    StoreClosedError,
    StoreDependencyError,
    StoreUnavailableError,
)

if TYPE_CHECKING:
    from psycopg import AsyncConnection

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
        self._dsn = dsn
        self._pool = pool
        self._schema = schema
        self._connection: AsyncConnection[tuple[Any, ...]] | None = None
        self._prepared = False
        self._turn = asyncio.Lock()
        self._running: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        if self._running:
            await asyncio.wait(self._running)
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()

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
            try:
                async with self._connected(psycopg) as connection:
                    db = database(connection, self._schema)
                    if not self._prepared:
                        await db.prepare()
                        self._prepared = True
                    return await work(db)
            except psycopg.OperationalError as error:
                if last_try or self._pool is not None or not self._drop_broken():
                    raise StoreUnavailableError(f"Postgres: {str(error).strip()}") from error
            except psycopg.Error as error:
                raise StoreUnavailableError(f"Postgres: {str(error).strip()}") from error
        raise AssertionError("the last try returns or raises")

    def _drop_broken(self) -> bool:
        """Whether the connection broke; it is then dropped, so that the next attempt opens another."""
        if self._connection is None or not self._connection.closed:
            return False
        self._connection = None
        return True

    @asynccontextmanager
    async def _connected(self, psycopg: Any) -> AsyncIterator[AsyncConnection[tuple[Any, ...]]]:
        if self._pool is not None:
            async with self._pool.connection() as connection:
                yield connection
            return
        async with self._turn:
            own = self._connection
            if own is None or own.closed:
                own = await psycopg.AsyncConnection.connect(self._dsn, autocommit=True)
                self._connection = own
            yield own


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
