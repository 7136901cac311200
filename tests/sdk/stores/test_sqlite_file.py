"""The SQLite file: several processes, killed processes, older and newer schemas, damage."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox_agent.sdk.stores import (
    SqliteStore,
    StoreCorruptError,
    StoreError,
    StoreUnavailableError,
    StoreVersionError,
)
from sandbox_agent.sdk.stores.columns import SCHEMA_VERSION

from .samples import a_session, an_event

WRITER = """
import asyncio, sys
from sandbox_agent.sdk.stores import EventRecord, SqliteStore

async def main(path, name, count):
    async with SqliteStore(path) as store:
        n = 0
        while count == 0 or n < count:
            batch = [
                EventRecord(session_id="s1", sender="agent", payload={"x": "y" * 2000}, created_at=n,
                            connection_id=name, id=f"{name}-{n}-{k}")
                for k in range(3)
            ]
            await store.insert_events(batch)
            n += 1
            print(n, flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def start_writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.clause("promise-stores-concurrent-writers")
async def test_two_processes_fill_one_new_file_without_gap_or_double(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writers = [start_writer(path, name, 40) for name in ("a", "b")]
    for writer in writers:
        await asyncio.to_thread(writer.communicate, timeout=50)
        assert writer.returncode == 0
    async with SqliteStore(path) as store:
        events = (await store.list_events("s1", limit=1000)).items
    assert [event.event_index for event in events] == list(range(1, 241))
    assert len({event.id for event in events}) == 240


@pytest.mark.clause("promise-stores-sudden-death")
async def test_a_killed_writer_leaves_whole_batches_and_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = start_writer(path, "victim", 0)
    assert writer.stdout is not None
    for _ in range(15):
        assert await asyncio.to_thread(writer.stdout.readline)
    writer.send_signal(signal.SIGKILL)
    said = 15 + len((await asyncio.to_thread(writer.communicate, timeout=30))[0].splitlines())
    async with SqliteStore(path) as store:
        events = (await store.list_events("s1", limit=100_000)).items
        assert len(events) % 3 == 0
        assert len(events) >= said * 3
        assert [event.event_index for event in events] == list(range(1, len(events) + 1))
        assert (await store.insert_event(an_event())).event_index == len(events) + 1
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


@pytest.mark.clause("sdk-off-the-loop")
async def test_the_loop_is_free_while_another_process_holds_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.update_session(a_session())
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        write = asyncio.ensure_future(store.insert_event(an_event()))
        for _ in range(20):  # the loop turns while the write waits for the lock
            await asyncio.sleep(0.001)
        assert not write.done()
        blocker.execute("COMMIT")
        blocker.close()
        assert (await asyncio.wait_for(write, 30)).event_index == 1


async def test_a_lock_that_never_ends_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path, busy_timeout_s=0.05) as store:
        await store.update_session(a_session())
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailableError, match="locked"):
            await store.insert_event(an_event())
        assert await store.get_session("s1") == a_session()
        blocker.execute("ROLLBACK")
        blocker.close()
        assert (await store.insert_event(an_event())).event_index == 1


def reference_file(path: Path) -> None:
    """A file as the reference's own driver makes it, with one session and one event."""
    database = sqlite3.connect(path)
    database.executescript(
        """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, agent_session_id TEXT NOT NULL,
            last_connection_id TEXT NOT NULL, created_at INTEGER NOT NULL, destroyed_at INTEGER,
            session_init_json TEXT);
        CREATE TABLE events (id TEXT PRIMARY KEY, event_index INTEGER NOT NULL, session_id TEXT NOT NULL,
            created_at INTEGER NOT NULL, connection_id TEXT NOT NULL, sender TEXT NOT NULL,
            payload_json TEXT NOT NULL);
        CREATE INDEX idx_events_session_order ON events(session_id, event_index, id);
        INSERT INTO sessions VALUES ('old', 'claude', 'n9', 'c9', 900, NULL, '{"cwd":"/w"}');
        INSERT INTO events VALUES ('e1', 1, 'old', 901, 'c9', 'client', '{"jsonrpc":"2.0","method":"x"}');
        """
    )
    database.close()


@pytest.mark.clause("sdk-missing-columns-added")
async def test_a_file_of_the_reference_gains_our_columns_and_keeps_its_data(tmp_path: Path) -> None:
    reference_file(tmp_path / "store.db")
    async with SqliteStore(tmp_path / "store.db") as store:
        kept = await store.get_session("old")
        assert kept == a_session(
            "old", agent="claude", agent_session_id="n9", last_connection_id="c9", created_at=900,
            session_init={"cwd": "/w"},
        )  # fmt: skip
        assert (await store.list_events("old")).items[0].payload == {"jsonrpc": "2.0", "method": "x"}
        changed = await store.patch_session("old", title="still here")
        assert changed is not None and changed.title == "still here"
        assert (await store.insert_event(an_event(session_id="old"))).event_index == 2


@pytest.mark.clause("sdk-missing-columns-added")
async def test_the_reference_can_go_on_writing_into_our_file(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        await store.update_session(a_session())
        theirs = sqlite3.connect(tmp_path / "store.db")
        theirs.execute(
            "INSERT INTO events (id, event_index, session_id, created_at, connection_id, sender, "
            "payload_json) VALUES ('x', 1, 's1', 5, 'c', 'agent', '{}')"
        )
        theirs.commit()
        theirs.close()
        assert (await store.insert_event(an_event())).event_index == 2


@pytest.mark.clause("sdk-table-names")
async def test_the_tables_have_the_documented_names_and_columns(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "store.db") as store:
        await store.update_session(a_session())
    database = sqlite3.connect(tmp_path / "store.db")
    columns = {
        table: [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        for table in ("sessions", "events")
    }
    indexes = {row[1] for row in database.execute("PRAGMA index_list(events)")}
    mode = database.execute("PRAGMA journal_mode").fetchone()[0]
    database.close()
    assert columns == {
        "sessions": [
            "id", "agent", "agent_session_id", "last_connection_id", "created_at", "destroyed_at",
            "session_init_json", "sandbox_id", "config_options_json", "modes_json", "title", "metadata_json",
            "server_id", "last_event_id", "init_result_json", "server_created_at", "archived_at",
        ],
        "events": [
            "id", "event_index", "session_id", "created_at", "connection_id", "sender", "payload_json",
        ],
    }  # fmt: skip
    assert "idx_events_session_order" in indexes
    assert mode == "wal"


@pytest.mark.clause("promise-stores-typed-errors")
async def test_a_file_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    database = sqlite3.connect(tmp_path / "store.db")
    database.execute("PRAGMA user_version = 99")
    database.close()
    store = SqliteStore(tmp_path / "store.db")
    with pytest.raises(StoreVersionError, match="version 99") as caught:
        await store.get_session("s1")
    assert (caught.value.found, caught.value.known) == (99, SCHEMA_VERSION)
    await store.close()


@pytest.mark.clause("promise-stores-typed-errors")
async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are my notes, not a database\n" * 100)
    before = path.read_bytes()
    store = SqliteStore(path)
    with pytest.raises(StoreCorruptError, match=r"notes\.txt"):
        await store.update_session(a_session())
    await store.close()
    assert path.read_bytes() == before


@pytest.mark.clause("promise-stores-typed-errors")
async def test_a_damaged_file_is_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await store.insert_events([an_event(n, payload={"x": "y" * 500}) for n in range(200)])
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    async with SqliteStore(path) as store:
        with pytest.raises(StoreCorruptError):
            await store.list_events("s1", limit=1000)


async def test_a_payload_that_is_no_json_is_a_typed_error(tmp_path: Path) -> None:
    reference_file(tmp_path / "store.db")
    database = sqlite3.connect(tmp_path / "store.db")
    database.execute("UPDATE events SET payload_json = '{broken'")
    database.commit()
    database.close()
    async with SqliteStore(tmp_path / "store.db") as store:
        with pytest.raises(StoreCorruptError, match="cannot be read"):
            await store.list_events("old")


@pytest.mark.clause("promise-stores-typed-errors")
@pytest.mark.parametrize("place", ["directory", "below_a_file"])
async def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path if place == "directory" else tmp_path / "file" / "store.db"
    async with SqliteStore(path) as store:
        with pytest.raises(StoreUnavailableError) as caught:
            await store.update_session(a_session())
    assert str(path) in str(caught.value)
    assert isinstance(caught.value, StoreError)


async def test_a_file_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "sub").write_text("in the way")
    async with SqliteStore(tmp_path / "sub" / "store.db") as store:
        with pytest.raises(StoreUnavailableError):
            await store.get_session("s1")
        (tmp_path / "sub").unlink()
        await store.update_session(a_session())
        assert await store.get_session("s1") == a_session()


async def test_missing_directories_are_made(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "a" / "b" / "store.db") as store:
        await store.update_session(a_session())
    assert (tmp_path / "a" / "b" / "store.db").exists()


def test_one_store_serves_several_event_loops(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")

    def write(n: int) -> None:
        asyncio.run(store.insert_event(an_event(n)))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert asyncio.run(store.count_events("s1")) == 4
    asyncio.run(store.close())
