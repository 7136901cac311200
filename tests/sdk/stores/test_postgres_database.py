"""Postgres beyond the common suite: sharing tables, JSONB's limits, lost connections, versions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from sandbox_agent.sdk.stores import PostgresStore, StoreUnavailableError, StoreVersionError

from .samples import a_session, an_event


class RoundTrips:
    """A proxy in front of Postgres that counts how often the client sends after it has received."""

    def __init__(self, directory: Path, target: Path) -> None:
        self.count = 0
        self.directory = directory
        self._target = target
        self._client_is_next = True

    async def __aenter__(self) -> RoundTrips:
        self._server = await asyncio.start_unix_server(self._accept, self.directory / ".s.PGSQL.5432")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_unix_connection(self._target / ".s.PGSQL.5432")
        await asyncio.gather(self._copy(reader, forth, True), self._copy(back, writer, False))

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, from_client: bool
    ) -> None:
        while data := await reader.read(1 << 16):
            self.count += from_client and self._client_is_next
            self._client_is_next = not from_client
            writer.write(data)
        writer.close()


@pytest.mark.clause("sdk-batched-writes")
async def test_a_batch_of_events_needs_a_few_round_trips_and_a_change_one(
    postgres_dsn: str, postgres_schema: str, tmp_path: Path
) -> None:
    target = Path(dict(part.split("=") for part in postgres_dsn.split())["host"])
    async with RoundTrips(tmp_path, target) as proxy:
        dsn = f"host={tmp_path} user=postgres dbname=postgres"
        async with PostgresStore(dsn, schema=postgres_schema) as store:
            await store.update_session(a_session())
            before = proxy.count
            await store.insert_events([an_event(number) for number in range(256)])
            # Two round trips of the pipeline; the server may begin to answer before all of it is sent.
            assert proxy.count - before <= 8
            before = proxy.count
            await store.patch_session("s1", last_event_id=256)
            assert proxy.count - before <= 1  # the proxy may see the answer before it counts
            assert await store.count_events("s1") == 256


async def columns_of(dsn: str, schema: str, table: str) -> dict[str, str]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        cursor = await connection.execute(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
            (schema, table),
        )
        return dict(await cursor.fetchall())


@pytest.mark.clause("sdk-table-names")
async def test_the_tables_have_the_documented_names_and_types(
    postgres_dsn: str, postgres_schema: str
) -> None:
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        await store.update_session(a_session())
    sessions = await columns_of(postgres_dsn, postgres_schema, "sessions")
    assert list(sessions)[:7] == [
        "id", "agent", "agent_session_id", "last_connection_id", "created_at", "destroyed_at",
        "session_init_json",
    ]  # fmt: skip
    assert (sessions["created_at"], sessions["session_init_json"]) == ("bigint", "jsonb")
    assert await columns_of(postgres_dsn, postgres_schema, "events") == {
        "id": "text",
        "event_index": "bigint",
        "session_id": "text",
        "created_at": "bigint",
        "connection_id": "text",
        "sender": "text",
        "payload_json": "jsonb",
        "payload_text": "text",
    }


@pytest.mark.clause("sdk-missing-columns-added")
async def test_tables_of_the_reference_gain_our_columns_and_keep_their_data(
    postgres_dsn: str, postgres_schema: str
) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
        for statement in (
            "CREATE TABLE {}.sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, agent_session_id TEXT NOT "
            "NULL, last_connection_id TEXT NOT NULL, created_at BIGINT NOT NULL, destroyed_at BIGINT, "
            "session_init_json JSONB)",
            "CREATE TABLE {}.events (id TEXT PRIMARY KEY, event_index BIGINT NOT NULL, session_id TEXT NOT "
            "NULL, created_at BIGINT NOT NULL, connection_id TEXT NOT NULL, sender TEXT NOT NULL, "
            "payload_json JSONB NOT NULL)",
            "INSERT INTO {}.sessions VALUES ('old', 'claude', 'n9', 'c9', 900, NULL, '{{\"cwd\":\"/w\"}}')",
            "INSERT INTO {}.events VALUES ('e1', 1, 'old', 901, 'c9', 'client', '{{\"method\":\"x\"}}')",
        ):
            await connection.execute(statement.format(postgres_schema).encode())
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        kept = await store.patch_session("old", title="still here")
        assert kept is not None and (kept.session_init, kept.title) == ({"cwd": "/w"}, "still here")
        assert (await store.list_events("old")).items[0].payload == {"method": "x"}
        assert (await store.insert_event(an_event(session_id="old"))).event_index == 2


async def test_what_jsonb_refuses_is_still_stored_exactly(postgres_dsn: str, postgres_schema: str) -> None:
    payload = {"nul": "a\0b", "half": "\ud83d", "pair": "\U0001f600", "text": "\\u0000"}
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        await store.insert_event(an_event(payload=payload))
        await store.update_session(a_session(metadata={"nul": "a\0b"}))
        assert (await store.list_events("s1")).items[0].payload == payload
    async with await psycopg.AsyncConnection.connect(postgres_dsn) as connection:
        query = f"SELECT payload_json FROM {postgres_schema}.events"  # noqa: S608 our own schema
        row = await (await connection.execute(query.encode())).fetchone()
    assert row == ({"nul": "a\ufffdb", "half": "\ufffd", "pair": "\U0001f600", "text": "\\u0000"},)


async def test_a_lost_connection_is_opened_again(postgres_dsn: str, postgres_schema: str) -> None:
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        await store.insert_event(an_event(1))
        async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND backend_type = 'client backend'"
            )
        assert (await store.insert_event(an_event(2))).event_index == 2


@pytest.mark.clause("promise-stores-typed-errors")
async def test_a_server_that_is_not_there_is_a_typed_error() -> None:
    async with PostgresStore("host=/nonexistent user=unknown dbname=none") as store:
        with pytest.raises(StoreUnavailableError, match="Postgres"):
            await asyncio.wait_for(store.get_session("s1"), 30)


@pytest.mark.clause("promise-stores-typed-errors")
async def test_tables_of_a_newer_version_are_refused(postgres_dsn: str, postgres_schema: str) -> None:
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        await store.get_session("s1")
    async with await psycopg.AsyncConnection.connect(postgres_dsn, autocommit=True) as connection:
        query = f"UPDATE {postgres_schema}.sandbox_agent_schema SET version = 99"  # noqa: S608 our own schema
        await connection.execute(query.encode())
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        with pytest.raises(StoreVersionError, match="version 99"):
            await store.get_session("s1")


@pytest.mark.clause("promise-stores-concurrent-writers")
async def test_programs_that_start_at_once_prepare_the_tables_once(postgres_dsn: str) -> None:
    stores = [PostgresStore(postgres_dsn, schema="made_at_once") for _ in range(5)]
    await asyncio.gather(*(store.insert_event(an_event(n)) for n, store in enumerate(stores)))
    assert await stores[0].count_events("s1") == 5
    for store in stores:
        await store.close()


@pytest.mark.clause("sdk-schema-name")
async def test_a_pool_of_the_caller_is_used_and_stays_open(postgres_dsn: str, postgres_schema: str) -> None:
    class OneConnectionPool:
        """The part of psycopg_pool's interface that the store uses."""

        def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
            self._connection = connection

        def connection(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
            return _Borrowed(self._connection)  # type: ignore[return-value]

    class _Borrowed:
        def __init__(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
            self._connection = connection

        async def __aenter__(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
            return self._connection

        async def __aexit__(self, kind: object, *_: object) -> None:
            await (self._connection.commit() if kind is None else self._connection.rollback())

    async with await psycopg.AsyncConnection.connect(postgres_dsn) as connection:
        async with PostgresStore(pool=OneConnectionPool(connection), schema=postgres_schema) as store:
            await store.update_session(a_session())
            assert (await store.insert_event(an_event())).event_index == 1
        assert not connection.closed
    async with PostgresStore(postgres_dsn, schema=postgres_schema) as store:
        assert await store.get_session("s1") == a_session()


@pytest.mark.clause("sdk-schema-name")
@pytest.mark.parametrize("name", ["", "1a", 'x"; DROP TABLE y', "a.b", "x" * 64])
def test_a_schema_name_that_is_no_plain_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="schema name"):
        PostgresStore("host=x", schema=name)


def test_a_dsn_or_a_pool_is_needed() -> None:
    with pytest.raises(ValueError, match="dsn or a pool"):
        PostgresStore()


IMPORT_CHECK = """
import sys
import sandbox_agent.sdk.stores
loaded = {"sqlite3", "psycopg", "pydantic", "acp", "httpx"} & set(sys.modules)
assert not loaded, loaded
sys.modules["psycopg"] = None
import asyncio
from sandbox_agent.sdk.stores import PostgresStore, StoreDependencyError
try:
    asyncio.run(PostgresStore("host=x").get_session("s"))
except StoreDependencyError as error:
    print(error)
"""


@pytest.mark.clause("promise-stores-light-import")
def test_stores_load_no_driver_and_a_missing_one_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_CHECK], capture_output=True, text=True, timeout=50, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "PostgresStore needs psycopg: pip install 'sandbox-agent[postgres]'\n"
