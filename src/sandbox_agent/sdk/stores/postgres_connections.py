"""The connections of a Postgres store: a few of its own, or those of a pool of the caller.

Sessions write at the same time, so one connection would make them wait for each other's round trips. A
connection is opened when all others are in use, up to `MAX_CONNECTIONS`; one that broke is dropped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psycopg import AsyncConnection

    Connection = AsyncConnection[tuple[Any, ...]]

MAX_CONNECTIONS = 8


class PostgresConnections:
    """Lends connections in autocommit mode."""

    def __init__(self, dsn: str | None, pool: Any) -> None:
        self._dsn = dsn
        self._pool = pool
        self._idle: list[Connection] = []
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        """A connection for one job."""
        if self._pool is not None:
            async with self._pool.connection() as connection:
                yield connection
            return
        async with self._free:
            own = self._take_idle() or await self._open()
            try:
                yield own
            finally:
                if not own.closed:
                    self._idle.append(own)

    @property
    def owned(self) -> bool:
        """Whether the connections belong to the store: a broken one is replaced by another attempt."""
        return self._pool is None

    async def close(self) -> None:
        """Close the idle connections; those of the caller's pool stay open."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.closed:
                return connection
        return None

    async def _open(self) -> Connection:
        import psycopg  # loaded on first use: only programs that use Postgres need the driver

        return await psycopg.AsyncConnection.connect(self._dsn or "", autocommit=True)
