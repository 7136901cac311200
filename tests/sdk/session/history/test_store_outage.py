"""A store that is away: turns go on, nothing hangs, and everything is stored when it is back."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AsyncSandboxAgent,
    AsyncSession,
    EventRecord,
    MemoryStore,
    PostgresStore,
    SessionRecord,
    SqliteStore,
    StoreError,
)
from tests.sdk.conftest import Connect
from tests.sdk.stores.postgres_server import find_binaries, running_postgres
from tests.support.machine.small_disk import mounted_disk
from tests.support.polling import eventually

LIMIT_S = 40.0


class AwayStore(MemoryStore):
    """A store that can be away: it refuses, or does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False
        self.answers = asyncio.Event()
        self.answers.set()

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        await self._present()
        return await super().insert_events(events)

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        await self._present()
        return await super().patch_session(session_id, **changes)

    async def _present(self) -> None:
        await self.answers.wait()
        if self.refuses:
            raise OSError("no route to the store")


@pytest.fixture
async def away() -> AwayStore:
    return AwayStore()


async def stored_texts(session: AsyncSession) -> list[str]:
    """The prompts in the store; the history must be complete and in order."""
    events = await session.events(limit=100_000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    sent = [m for m in await session.raw_events(limit=100_000) if m.get("method") == "session/prompt"]
    return [message["params"]["prompt"][-1]["text"] for message in sent]


@pytest.mark.clause("sdk-store-outage")
@pytest.mark.parametrize("silent", [False, True])
async def test_results_reach_the_caller_while_the_store_is_away_and_are_stored_afterwards(
    client_of: Any, away: AwayStore, silent: bool
) -> None:
    client = await client_of(away, store_patience=0.5)
    session = await client.sessions.create("mock")
    away.refuses = not silent
    if silent:
        away.answers.clear()
    for text in ("echo one", "echo two"):
        assert (await asyncio.wait_for(session.prompt(text), LIMIT_S)).text == text.removeprefix("echo ")
    with pytest.raises(StoreError, match="in memory only"):
        await asyncio.wait_for(session.events(), LIMIT_S)
    with pytest.raises(StoreError):
        await asyncio.wait_for(session.update(title="later"), LIMIT_S)
    away.refuses = False
    away.answers.set()
    assert (await session.prompt("echo three")).text == "three"
    assert await stored_texts(session) == ["echo one", "echo two", "echo three"]
    assert (await client.sessions.get(session.id)).title == "later"


@pytest.mark.clause("sdk-store-outage")
@pytest.mark.parametrize("silent", [False, True])
async def test_a_client_closes_though_its_store_never_returns(
    client_of: Any, away: AwayStore, silent: bool
) -> None:
    client = await client_of(away, store_patience=0.3)
    sessions = [await client.sessions.create("mock") for _ in range(3)]
    away.refuses = not silent
    if silent:
        away.answers.clear()
    await asyncio.wait_for(sessions[0].prompt("echo kept in memory"), LIMIT_S)
    with pytest.raises(StoreError) as failure:
        await asyncio.wait_for(sessions[0].aclose(), LIMIT_S)
    with pytest.raises(StoreError) as other:
        await asyncio.wait_for(client.aclose(), LIMIT_S)
    assert other.value is not failure.value and client.is_closed
    away.answers.set()


@pytest.mark.clause("sdk-store-outage")
async def test_a_later_flush_tries_again_at_once(client_of: Any, away: AwayStore) -> None:
    client = await client_of(away, store_patience=0.2)
    session = await client.sessions.create("mock")
    away.refuses = True
    await session.prompt("echo x")
    for _ in range(6):  # the pauses between attempts grow to seconds
        with pytest.raises(StoreError):
            await session.events()
    away.refuses = False
    began = time.monotonic()
    assert await stored_texts(session) == ["echo x"]
    assert time.monotonic() - began < 1.5


@pytest.fixture
async def client_of(connect: Connect) -> AsyncIterator[Any]:
    made: list[AsyncSandboxAgent] = []

    async def build(store: Any, **options: Any) -> AsyncSandboxAgent:
        made.append(await connect(store=store, **options))
        return made[-1]

    yield build


# -- real outages -----------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk") as place:
        yield place


@pytest.mark.root
@pytest.mark.clause("sdk-store-outage")
async def test_a_full_disk_ends_no_session(client_of: Any, small_disk: Path) -> None:
    store = SqliteStore(small_disk / "store.db")
    client = await client_of(store, store_patience=1.0)
    session = await client.sessions.create("mock")
    await session.prompt("echo first")
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 512):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    result = await asyncio.wait_for(session.prompt("stream 300 0"), LIMIT_S)
    assert result.text.count("chunk") == 300
    with pytest.raises(StoreError):
        await asyncio.wait_for(session.events(), LIMIT_S)
    filler.unlink()
    assert (await session.prompt("echo last")).text == "last"
    assert await stored_texts(session) == ["echo first", "stream 300 0", "echo last"]
    await client.aclose()
    await store.close()


def database_processes(dsn: str) -> list[int]:
    """The main process of the database and those it started."""
    home = Path(dsn.split()[0].removeprefix("host="))
    main = int((home / "data" / "postmaster.pid").read_text().split()[0])
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return [main, *map(int, children)]


def send(processes: list[int], number: int) -> None:
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            continue


@pytest.fixture
def own_postgres() -> Iterator[str]:
    """A database for one test, which may be stopped and killed."""
    binaries = find_binaries()
    assert binaries is not None
    with running_postgres(binaries) as dsn:
        yield dsn


@pytest.mark.postgres
@pytest.mark.timeout(300)
@pytest.mark.clause("sdk-store-outage")
async def test_a_database_that_is_stopped_and_killed_loses_nothing(
    client_of: Any, own_postgres: str, full_run: bool
) -> None:
    stopped_s, seeds = (10.0, 10) if full_run else (3.0, 2)
    store = PostgresStore(own_postgres)
    client = await client_of(store, store_patience=60.0)
    session = await client.sessions.create("mock")
    sent: list[str] = []

    async def turn(text: str) -> None:
        sent.append(text)
        await asyncio.wait_for(session.prompt(text), LIMIT_S)

    for seed in range(seeds):
        dice = random.Random(seed)  # noqa: S311 - a reproducible test, not a secret
        running = asyncio.create_task(turn(f"stream {dice.randrange(20, 60)} 10"))
        await asyncio.sleep(dice.uniform(0.0, 0.4))  # the fault comes at any point of the turn
        frozen = database_processes(own_postgres)
        send(frozen, signal.SIGSTOP)
        await asyncio.sleep(stopped_s)  # the outage itself
        assert running.done(), "a turn does not wait for the store"
        send(frozen, signal.SIGCONT)
        await turn("echo after the stop")
        running = asyncio.create_task(turn("stream 20 10"))
        await asyncio.sleep(dice.uniform(0.0, 0.2))
        # A killed worker makes the database drop all connections and recover.
        send(database_processes(own_postgres)[1:], signal.SIGKILL)
        await running
        await turn("echo after the kill")
    assert await asyncio.wait_for(stored_texts(session), LIMIT_S) == sent
    await eventually(lambda: session.info.event_count > 0)
    await client.aclose()
    await store.close()
