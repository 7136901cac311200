"""One suite for all stores: `open_store` opens the same database again, `store` is one open store."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from sandbox_agent.sdk.stores import MemoryStore, PostgresStore, SessionStore, SqliteStore

from .postgres_server import find_binaries, running_postgres

OpenStore = Callable[[], SessionStore]
_schemas = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    binaries = find_binaries()
    assert binaries is not None
    with running_postgres(binaries) as dsn:
        yield dsn


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    """Opens the same database each time it is called."""
    if request.param == "memory":
        only = MemoryStore()
        return lambda: only
    if request.param == "sqlite":
        return lambda: SqliteStore(tmp_path / "store.db")
    dsn, schema = request.getfixturevalue("postgres_dsn"), f"test_{next(_schemas)}"
    return lambda: PostgresStore(dsn, schema=schema)


@pytest.fixture
async def store(open_store: OpenStore) -> AsyncIterator[SessionStore]:
    opened = open_store()
    yield opened
    await opened.close()


@pytest.fixture
def postgres_schema(postgres_dsn: str) -> Iterator[str]:
    """A fresh schema that is empty; gives its name."""
    name = f"test_{next(_schemas)}"
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    yield name
