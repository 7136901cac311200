"""Connections that break at every point of a turn: nothing is lost, duplicated or left waiting."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from sandbox_agent import (
    AgentExitedError,
    APIConnectionError,
    AsyncSandboxAgent,
    AsyncSession,
    SandboxAgentError,
    auto_approve,
)
from sandbox_agent.sdk.transport.calls.pending_calls import EXIT_DETAILS_S
from tests.sdk.conftest import Connect, within_a_second
from tests.sdk.cutting_proxy import Cut, CuttingProxy
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually

TURNS_PER_SEED = 4
CHUNKS = 12
# Under the load of a whole test run; a healthy turn takes well under a second.
TURN_LIMIT_S = 40.0


def proxied(server: LiveServer) -> CuttingProxy:
    return CuttingProxy("127.0.0.1", server.port)


async def check_record(session: AsyncSession) -> None:
    """Sequences have no gap, and the stored events equal the live ones."""
    stored = await session.events(limit=100_000)
    assert [event.sequence for event in stored] == list(range(1, len(stored) + 1))
    started = [e.data.item.item_id for e in stored if e.type == "item.started"]
    completed = [e.data.item.item_id for e in stored if e.type == "item.completed"]
    assert len(started) == len(set(started)) and sorted(started) == sorted(completed)


async def one_turn(session: AsyncSession, prompt: str) -> str | SandboxAgentError:
    """The text of a turn, or the typed error it ended with; anything else fails the test."""
    try:
        return (await asyncio.wait_for(session.prompt(prompt), TURN_LIMIT_S)).text
    except SandboxAgentError as error:
        return error


@pytest.mark.clause("decision-4-client", "sdk-reconnect", "sdk-faults")
@pytest.mark.timeout(900)
async def test_random_cuts_lose_nothing_and_double_nothing(
    own_server: LiveServer, connect: Connect, full_run: bool
) -> None:
    seeds = 100 if full_run else 10
    wanted = "".join(f"chunk {n}\n" for n in range(1, CHUNKS + 1))
    cuts = answered = failed = 0
    for seed in range(seeds):
        dice = random.Random(seed)  # noqa: S311 - a reproducible test, not a secret
        async with proxied(own_server) as proxy:
            client = await connect(proxy.url)
            session = await client.sessions.create("mock", model="mock-fast", on_permission=auto_approve)
            chance = dice.choice((0.3, 0.6, 0.9))
            proxy.plan = lambda number, head, dice=dice, chance=chance: (
                Cut(dice.choice(("up", "down")), dice.randrange(0, 6000), dice.random() < 0.5)
                if dice.random() < chance
                else None
            )
            live: list[int] = []
            session.on_event(lambda event, live=live: live.append(event.sequence))
            for turn in range(TURNS_PER_SEED):
                cutter = asyncio.create_task(_cut_sometimes(proxy, dice))
                outcome = await one_turn(session, f"stream {CHUNKS} 5")
                cutter.cancel()
                if isinstance(outcome, SandboxAgentError):
                    assert isinstance(outcome, APIConnectionError), (seed, turn, outcome)
                    failed += 1
                else:
                    answered += 1
                    assert outcome == wanted, (seed, turn)
            proxy.plan = lambda number, head: None
            # Connections kept alive still have their planned cut; later ones have none.
            connections = proxy.connections
            proxy.cut_now()
            # The reader connects again: the client has noticed the cut.
            await eventually(lambda proxy=proxy, before=connections: proxy.connections > before)
            assert (await session.prompt("echo still one conversation")).text == "still one conversation"
            await check_record(session)
            assert live == list(range(live[0], live[0] + len(live))), seed
            await session.terminate()
            cuts += proxy.cuts
    # Connections were cut, and most turns completed anyway.
    assert cuts > seeds * TURNS_PER_SEED and answered > failed, (cuts, answered, failed)


async def _cut_sometimes(proxy: CuttingProxy, dice: random.Random) -> None:
    while True:
        await asyncio.sleep(dice.uniform(0.005, 0.1))
        proxy.cut_now()


@pytest.mark.clause("sdk-reconnect")
@pytest.mark.parametrize("after_bytes", [0, 40, 200, 100_000])
async def test_a_stream_cut_anywhere_resumes_where_it_was(
    own_server: LiveServer, connect: Connect, after_bytes: int
) -> None:
    async with proxied(own_server) as proxy:
        client = await connect(proxy.url)
        session = await client.sessions.create("mock")
        proxy.plan = lambda number, head: (
            Cut("down", after_bytes) if head.startswith(b"GET /v1/acp/") else None
        )
        proxy.cut_now()
        turn = asyncio.create_task(session.prompt("stream 30 5"))
        await asyncio.sleep(0.3)  # the fault itself: every stream of this time is cut
        proxy.plan = lambda number, head: None
        assert (await asyncio.wait_for(turn, TURN_LIMIT_S)).text.count("chunk") == 30
        await check_record(session)


@pytest.mark.clause("decision-4-client", "decision-38")
async def test_a_post_that_breaks_mid_turn_gets_its_answer_from_the_stream(
    own_server: LiveServer, connect: Connect
) -> None:
    async with proxied(own_server) as proxy:
        client = await connect(proxy.url)
        session = await client.sessions.create("mock")
        async with session.stream("stream 20 20") as turn:
            async for _ in turn.text_deltas:
                proxy.cut_now()
                break
            result = await asyncio.wait_for(turn.result(), TURN_LIMIT_S)
        assert result.text.count("chunk") == 20 and result.stop_reason == "end_turn"
        prompts = [m for m in await session.raw_events(limit=1000) if m.get("method") == "session/prompt"]
        assert len(prompts) == 1


@pytest.mark.clause("decision-38")
async def test_a_prompt_that_never_arrived_is_a_quick_typed_error(
    own_server: LiveServer, connect: Connect
) -> None:
    async with proxied(own_server) as proxy:
        client = await connect(proxy.url)
        session = await client.sessions.create("mock")
        proxy.plan = lambda number, head: (
            Cut("up", 100) if b"session/prompt" in head or head.startswith(b"POST") else None
        )
        proxy.cut_now()
        began = time.monotonic()
        with pytest.raises(APIConnectionError, match="not sent again") as failure:
            await asyncio.wait_for(session.prompt("echo lost"), TURN_LIMIT_S)
        assert failure.value.delivery_unknown and time.monotonic() - began < 15
        proxy.plan = lambda number, head: None
        assert (await session.prompt("echo found")).text == "found"
        await check_record(session)


@pytest.mark.clause("sdk-found-again")
async def test_a_permission_asked_while_the_stream_is_down_is_seen_after_the_reconnect(
    own_server: LiveServer, connect: Connect
) -> None:
    async with proxied(own_server) as proxy:
        client = await connect(proxy.url)
        session = await client.sessions.create("mock", on_permission=auto_approve)
        proxy.plan = lambda number, head: Cut("down", 0) if head.startswith(b"GET") else None
        proxy.cut_now()
        cuts = proxy.cuts
        turn = asyncio.create_task(session.prompt("permission"))
        await eventually(lambda: proxy.cuts >= cuts + 2)
        assert not turn.done()
        proxy.plan = lambda number, head: None
        assert "allow_once" in (await asyncio.wait_for(turn, TURN_LIMIT_S)).text


@pytest.mark.clause("sdk-nothing-hangs")
@pytest.mark.parametrize("respond_async", [False, True])
async def test_a_server_that_dies_in_a_turn_fails_it_within_a_second(
    own_server: LiveServer, connect: Connect, respond_async: bool
) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    async with session.stream("hang", respond_async=respond_async) as turn:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        await own_server.kill()
        with within_a_second(), pytest.raises(APIConnectionError) as failure:
            await turn.result()
        assert failure.value.delivery_unknown
    ended = (await session.events(limit=1000))[-1]
    assert ended.type == "turn.ended" and ended.data.metadata == {"error": True}
    await own_server.start()
    assert (await session.prompt("echo after")).text == "after", "the session is not lost with its turn"


@pytest.mark.clause("sdk-recorded-once")
@pytest.mark.parametrize("prompt", ["hang", "permission", "stream 1000 2", "flood 100000"])
async def test_a_server_that_is_killed_in_any_phase_and_restarted_leaves_one_record(
    own_server: LiveServer, connect: Connect, prompt: str
) -> None:
    client = await connect()
    session = await client.sessions.create("mock", on_permission=lambda _: None)
    turn = session.start(prompt)
    await asyncio.wait_for(turn.messages.sent.wait(), 10)
    await own_server.kill()
    await own_server.start()
    with pytest.raises(SandboxAgentError):
        await asyncio.wait_for(turn.result(), TURN_LIMIT_S)
    assert (await session.prompt("echo next")).text == "next"
    # A call that was settled is not lost again: its delayed end once recorded the prompt a second time.
    await asyncio.sleep(EXIT_DETAILS_S + 0.3)
    assert not session.busy
    sent = [m for m in await session.raw_events(limit=200_000) if m.get("method") == "session/prompt"]
    assert [message["params"]["prompt"][-1]["text"] for message in sent] == [prompt, "echo next"]
    events = await session.events(limit=200_000)
    kinds = [event.type for event in events]
    assert kinds.count("turn.started") == kinds.count("turn.ended") == 2
    await check_record(session)


@pytest.mark.clause("sdk-survives-a-rolling-restart")
async def test_a_rolling_restart_is_survived(own_server: LiveServer, connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", model="mock-fast")
    async with session.stream("hang") as turn:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        restart = asyncio.create_task(own_server.restart())
        # The agent ended with its server, and its turn fails.
        with pytest.raises((AgentExitedError, APIConnectionError)):
            await asyncio.wait_for(turn.result(), TURN_LIMIT_S)
    outcome = await one_turn(session, "echo on it goes")
    while isinstance(outcome, SandboxAgentError):
        assert not restart.done() or isinstance(outcome, APIConnectionError), outcome
        began = time.monotonic()
        outcome = await one_turn(session, "echo on it goes")
        # The attempt that succeeds also starts an agent; those that fail are quick.
        assert not isinstance(outcome, SandboxAgentError) or time.monotonic() - began < 2.0
    await restart
    assert outcome == "on it goes" and session.restored.method == "resumed"
    assert session.info.model == "mock-fast"
    await check_record(session)


@pytest.mark.clause("decision-6-client")
async def test_lost_events_are_reported_as_a_gap_and_never_hidden(
    tmp_path: object, own_server: LiveServer
) -> None:
    await own_server.stop()
    own_server.arguments = ("--replay-max-events", "10", "--spill-max-bytes", "0")
    await own_server.start()
    async with proxied(own_server) as proxy, await _client(proxy.url, own_server) as client:
        session = await client.sessions.create("mock")
        proxy.plan = lambda number, head: Cut("down", 0) if head.startswith(b"GET /v1/acp/") else None
        proxy.cut_now()
        turn = asyncio.create_task(session.prompt("flood 500"))
        await eventually(lambda: _published(client, 500), TURN_LIMIT_S)
        proxy.plan = lambda number, head: None
        result = await asyncio.wait_for(turn, TURN_LIMIT_S)
        gaps = [e for e in result.events if e.type == "error" and e.data.code == "replay_gap"]
        assert len(gaps) == 1 and gaps[0].synthetic
        assert result.stop_reason == "end_turn" and result.text.count("\n") < 500


async def _published(client: AsyncSandboxAgent, number: int) -> bool:
    return ((await client.acp.list())[0].last_event_id or 0) >= number


async def _client(url: str, server: LiveServer) -> AsyncSandboxAgent:
    return await AsyncSandboxAgent.connect(url, server.token, default_directory=str(server.work))
