"""Many instances on one stream: nothing is lost, duplicated or mixed up, and each ends alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from sandbox_agent import AgentExitedError, APIConnectionError, AsyncSandboxAgent, AsyncSession
from sandbox_agent.sdk.transport.streams import shared_streams
from tests.sdk.conftest import Connect
from tests.sdk.cutting_proxy import Cut, CuttingProxy
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually

SESSIONS = 6
CHUNKS = 15
LIMIT_S = 50.0
WANTED = "".join(f"chunk {n}\n" for n in range(1, CHUNKS + 1))


@pytest.fixture(autouse=True)
def all_streams_are_shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shared_streams, "OWN_STREAMS", 0)
    monkeypatch.setattr(shared_streams, "GROUP_SIZE", 4)
    yield


@pytest.fixture
async def own_server(own_server: LiveServer) -> LiveServer:
    await own_server.stop()
    own_server.arguments = ("--acp-heartbeat-ms", "300")
    return await own_server.start()


async def create(client: AsyncSandboxAgent, count: int = SESSIONS) -> list[AsyncSession]:
    made = (client.sessions.create("mock", isolated=True, model="mock-fast") for _ in range(count))
    return list(await asyncio.gather(*made))


async def check(session: AsyncSession) -> None:
    events = await session.events()
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))


@pytest.mark.clause("sdk-shared-streams")
async def test_a_group_of_instances_needs_one_connection(own_server: LiveServer, connect: Connect) -> None:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        client = await connect(proxy.url)
        sessions = await create(client)
        results = await asyncio.gather(*(one.prompt(f"echo {one.id}") for one in sessions))
        assert [result.text for result in results] == [session.id for session in sessions]
        open_streams = [one.subscribers for one in await client.acp.list()]
        assert open_streams == [1] * SESSIONS, "each instance is read once"
    assert any(part.startswith(b"GET /v1/events?") for part in proxy.asked)
    assert not any(part.startswith(b"GET /v1/acp/") for part in proxy.asked)


@pytest.mark.clause("sdk-shared-streams", "sdk-faults")
@pytest.mark.timeout(600)
async def test_random_cuts_of_shared_streams_lose_nothing(
    own_server: LiveServer, connect: Connect, full_run: bool
) -> None:
    cuts = 0
    for seed in range(30 if full_run else 3):
        dice = random.Random(seed)  # noqa: S311 - a reproducible test, not a secret
        async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
            client = await connect(proxy.url)
            sessions = await create(client)
            proxy.plan = lambda number, head, dice=dice: (
                Cut("down", dice.randrange(0, 9000), dice.random() < 0.5) if dice.random() < 0.6 else None
            )
            turns = [one.start(f"stream {CHUNKS} 40") for one in sessions]
            for turn in turns:
                async for _ in turn.text_deltas:
                    break
            while not all(turn.done for turn in turns) and proxy.cuts < 60:
                proxy.cut_now()
                await asyncio.sleep(dice.uniform(0.02, 0.2))  # the fault itself
            proxy.plan = lambda number, head: None
            for turn in turns:
                assert (await asyncio.wait_for(turn.result(), LIMIT_S)).text == WANTED, seed
            proxy.cut_now()
            late = await create(client, 2)  # a group that is being read gets further instances
            for session in [*sessions, *late]:
                result = await asyncio.wait_for(session.prompt("echo still here"), LIMIT_S)
                assert result.text == "still here"
                await check(session)
            cuts += proxy.cuts
            await client.aclose()
    assert cuts > SESSIONS


@pytest.mark.clause("sdk-shared-streams")
async def test_instances_of_one_stream_end_alone(connect: Connect) -> None:
    client, other = await connect(), await connect()
    crashing, deleted, ended, *rest = await create(client)
    running = [asyncio.create_task(one.prompt(f"stream {CHUNKS} 100")) for one in rest]
    with pytest.raises(AgentExitedError):
        await crashing.prompt("crash 3")
    await other.acp.close(deleted.info.server_id or "")
    await eventually(lambda: deleted.info.ended)
    await ended.terminate()
    for turn in running:
        assert (await asyncio.wait_for(turn, LIMIT_S)).text == WANTED
    for session in (crashing, deleted):
        assert (await asyncio.wait_for(session.prompt("echo again"), LIMIT_S)).text == "again"


@pytest.mark.clause("sdk-shared-streams")
async def test_a_silent_network_is_noticed_on_a_shared_stream(
    own_server: LiveServer, connect: Connect
) -> None:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        client = await connect(proxy.url, network_patience=2.0)
        sessions = await create(client, 3)
        turns = [one.start("hang") for one in sessions]
        for turn in turns:
            await asyncio.wait_for(turn.messages.sent.wait(), LIMIT_S)
        proxy.silent()
        for turn in turns:
            with pytest.raises(APIConnectionError):
                await asyncio.wait_for(turn.result(), LIMIT_S)
        proxy.speaks()
        for session in sessions:
            assert (await asyncio.wait_for(session.prompt("echo back"), LIMIT_S)).text == "back"


@pytest.mark.clause("sdk-shared-streams", "sdk-survives-a-rolling-restart")
async def test_a_restarted_server_ends_the_turns_and_restores_the_sessions(
    own_server: LiveServer, connect: Connect
) -> None:
    client = await connect()
    sessions = await create(client, 5)
    turns = [one.start("hang") for one in sessions]
    for turn in turns:
        await asyncio.wait_for(turn.messages.sent.wait(), LIMIT_S)
    await own_server.kill()
    await own_server.start()
    for turn in turns:
        with pytest.raises((AgentExitedError, APIConnectionError)):
            await asyncio.wait_for(turn.result(), LIMIT_S)
    for session in sessions:
        assert (await asyncio.wait_for(session.prompt("echo after"), LIMIT_S)).text == "after"
        await check(session)


@pytest.mark.clause("sdk-shared-streams")
async def test_a_server_without_shared_streams_gets_one_for_each(
    own_server: LiveServer, connect: Connect
) -> None:
    await own_server.stop()
    own_server.arguments = ("--events", "off")
    await own_server.start()
    client = await connect()
    for session in await create(client):
        assert (await asyncio.wait_for(session.prompt("echo alone"), LIMIT_S)).text == "alone"
    await eventually(lambda: _all_read(client))


async def _all_read(client: AsyncSandboxAgent) -> bool:
    return [one.subscribers for one in await client.acp.list()] == [1] * SESSIONS
