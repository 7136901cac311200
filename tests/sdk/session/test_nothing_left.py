"""What a session leaves behind when it ends: no instance, no memory, no reader; and ids that are unique."""

from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import httpx
import pytest

from sandbox_agent import (
    AgentExitedError,
    AsyncSandboxAgent,
    BadRequestError,
    MemoryStore,
    SessionAlreadyExistsError,
    SessionEndedError,
    SqliteStore,
    auto_approve,
    auto_reject,
)
from sandbox_agent.sdk.session.instances import instance_pool
from sandbox_agent.sdk.session.skills.skill_directory import SkillDirectory
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually


@pytest.mark.clause("sdk-instances-deleted")
@pytest.mark.parametrize("isolated", [True, False])
async def test_terminate_deletes_the_instance_of_a_crashed_agent(
    own_server: LiveServer, connect: Connect, isolated: bool
) -> None:
    await own_server.stop()
    own_server.arguments = ("--max-instances", "3")
    await own_server.start()
    client = await connect()
    for number in range(5):
        await client.fs.mkdir(f"{own_server.work}/d{number}")
        session = await client.sessions.create(
            "mock", isolated=isolated, directory=f"{own_server.work}/d{number}"
        )
        with pytest.raises(AgentExitedError):
            await session.prompt("crash 3")
        await session.terminate()
        assert await client.acp.list() == []


async def test_a_turn_and_its_requests_are_freed_without_the_garbage_collector(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    await session.prompt("echo first")
    gc.collect()
    gc.disable()
    try:
        responses = _responses()
        turn = session.start("echo second")
        await turn.result()
        left = weakref.ref(turn)
        del turn
        await eventually(lambda: left() is None)
        await client.health()
        assert _responses() <= responses
    finally:
        gc.enable()


def _responses() -> int:
    return sum(isinstance(one, httpx.Response) for one in gc.get_objects())


@pytest.mark.clause("sdk-instances-deleted")
async def test_a_restored_session_keeps_the_id_of_its_crashed_instance(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    before = session.info.server_id
    with pytest.raises(AgentExitedError):
        await session.prompt("crash 3")
    assert (await session.prompt("echo again")).text == "again"
    assert session.info.server_id == before and len(await client.acp.list()) == 1


@pytest.mark.clause("sdk-memory-of-closed-sessions")
async def test_a_closed_session_leaves_memory(client: AsyncSandboxAgent) -> None:
    closed = []
    for ending in ("terminate", "aclose", "block", "by id"):
        session = await client.sessions.create("mock")
        await session.prompt("echo x")
        closed.append(weakref.ref(session))
        if ending == "block":
            async with session:
                pass
        elif ending == "by id":
            await client.sessions.terminate(session.id)
        else:
            await getattr(session, ending)()
        del session

    def collected() -> bool:
        gc.collect()
        return all(one() is None for one in closed)

    await eventually(collected)


@pytest.mark.clause("sdk-memory-of-closed-sessions")
async def test_directories_of_earlier_sessions_leave_memory(
    client: AsyncSandboxAgent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(instance_pool, "SKILL_DIRECTORIES", 2)
    before = _count(SkillDirectory)
    for number in range(4):
        place = tmp_path / str(number)
        place.mkdir()
        session = await client.sessions.create("mock", directory=place)
        await session.terminate()
        await client.sessions.forget(session.id)
    del session
    assert _count(SkillDirectory) - before == 2


def _count(kind: type) -> int:
    gc.collect()
    return sum(isinstance(one, kind) for one in gc.get_objects())


async def test_a_directory_that_does_not_exist_is_named(client: AsyncSandboxAgent) -> None:
    with pytest.raises(BadRequestError, match="nowhere"):
        await client.sessions.create("mock", directory="/nowhere")


async def test_a_closed_session_refuses_prompts(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.aclose()
    with pytest.raises(SessionEndedError):
        await session.prompt("echo x")
    again = await client.sessions.resume(session.id)
    assert again is not session and (await again.prompt("echo x")).text == "x"


@pytest.mark.clause("sdk-follow-ends")
@pytest.mark.parametrize("ending", ["terminate", "aclose", "client"])
async def test_readers_end_with_their_session(connect: Connect, ending: str) -> None:
    client = await connect()
    session = await client.sessions.create("mock")

    async def read() -> list[str]:
        return [event.type async for event in session.follow()]

    async def read_raw() -> int:
        return len([message async for message in session.follow_raw()])

    readers = [asyncio.create_task(read()), asyncio.create_task(read_raw())]
    await session.prompt("echo x")
    await (client.aclose() if ending == "client" else getattr(session, ending)())
    types, messages = await asyncio.wait_for(asyncio.gather(*readers), 20)
    assert types[-1] == "session.ended" and messages
    if ending != "client":
        assert (await asyncio.wait_for(read(), 20)) == types, "a late reader gets the history and ends"


# -- ids --------------------------------------------------------------------------------------------------


@pytest.mark.clause("sdk-unique-ids")
async def test_one_of_two_creations_with_the_same_id_wins(client: AsyncSandboxAgent) -> None:
    outcomes = await asyncio.gather(
        *(client.sessions.create("mock", id="chat") for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(one, SessionAlreadyExistsError) for one in outcomes) == 3
    same = await asyncio.gather(*(client.sessions.resume_or_create("talk", "mock") for _ in range(4)))
    assert all(session is same[0] for session in same)


@pytest.mark.clause("sdk-unique-ids")
@pytest.mark.parametrize("kind", ["sqlite", "memory"])
async def test_ids_are_unique_between_clients_that_share_a_store(
    connect: Connect, tmp_path: Path, kind: str
) -> None:
    stores = [SqliteStore(tmp_path / "s.db") for _ in range(2)] if kind == "sqlite" else [MemoryStore()] * 2
    clients = [await connect(store=store) for store in stores]
    for number in range(3):
        outcomes = await asyncio.gather(
            *(client.sessions.create("mock", id=f"chat-{number}") for client in clients),
            return_exceptions=True,
        )
        assert sum(isinstance(one, SessionAlreadyExistsError) for one in outcomes) == 1
    sessions = await asyncio.gather(*(one.sessions.resume_or_create("talk", "mock") for one in clients))
    assert {session.id for session in sessions} == {"talk"}
    for client in clients:
        await client.aclose()
    for store in stores:
        await store.close()


# -- resume -----------------------------------------------------------------------------------------------


@pytest.mark.clause("sdk-resume-keeps")
async def test_isolation_survives_a_resume(own_server: LiveServer, connect: Connect) -> None:
    store = MemoryStore()
    first = await connect(store=store)
    for name in ("a", "b"):
        await first.sessions.create("mock", id=name, isolated=True)
    await first.sessions.create("mock", id="c")
    await first.aclose()
    second = await connect(store=store)
    a, b, c = [await second.sessions.resume(name) for name in ("a", "b", "c")]
    assert len({session.info.server_id for session in (a, b, c)}) == 3
    with pytest.raises(AgentExitedError):
        await a.prompt("crash 3")
    assert (await b.prompt("echo unharmed")).text == "unharmed"


@pytest.mark.clause("sdk-resume-keeps")
async def test_callbacks_given_to_resume_reach_a_session_that_is_open(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", on_permission=auto_reject, permission_timeout=30.0)
    assert await client.sessions.resume(session.id, on_permission=auto_approve) is session
    assert "allow_once" in (await session.prompt("permission")).text
    assert session.handlers.permission_timeout == 30.0
