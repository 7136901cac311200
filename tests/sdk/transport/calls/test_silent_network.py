"""A network that falls silent: no error, no byte. Waiting calls fail in time, and old turns stay apart."""

from __future__ import annotations

import asyncio
import time

import pytest

from sandbox_agent import APIConnectionError
from tests.sdk.conftest import Connect
from tests.sdk.cutting_proxy import CuttingProxy
from tests.sdk.live_server import LiveServer

PATIENCE_S = 2.0
LIMIT_S = 30.0


@pytest.fixture
async def own_server(own_server: LiveServer) -> LiveServer:
    await own_server.stop()
    own_server.arguments = ("--acp-heartbeat-ms", "300")
    return await own_server.start()


@pytest.mark.clause("sdk-silent-network")
@pytest.mark.parametrize("respond_async", [False, True])
async def test_a_silent_network_fails_an_open_prompt_in_time(
    own_server: LiveServer, connect: Connect, respond_async: bool
) -> None:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        client = await connect(proxy.url, network_patience=PATIENCE_S)
        session = await client.sessions.create("mock")
        turn = session.start("hang", respond_async=respond_async)
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        began = time.monotonic()
        proxy.silent()
        with pytest.raises(APIConnectionError) as failure:
            await asyncio.wait_for(turn.result(), LIMIT_S)
        waited = time.monotonic() - began
        assert failure.value.delivery_unknown and PATIENCE_S - 1 < waited < PATIENCE_S + 8
        proxy.speaks()
        assert (await asyncio.wait_for(session.prompt("echo back"), LIMIT_S)).text == "back"


@pytest.mark.clause("sdk-silent-network")
async def test_a_short_silence_costs_nothing(own_server: LiveServer, connect: Connect) -> None:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        client = await connect(proxy.url, network_patience=20.0)
        session = await client.sessions.create("mock")
        turn = session.start("stream 40 20")
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        proxy.silent()
        await asyncio.sleep(1.0)  # the fault itself
        proxy.speaks()
        assert (await asyncio.wait_for(turn.result(), LIMIT_S)).text.count("chunk") == 40


@pytest.mark.clause("sdk-old-turns-stay-apart")
@pytest.mark.parametrize("seed", range(3))
async def test_the_rest_of_an_old_turn_is_no_part_of_the_next(
    own_server: LiveServer, connect: Connect, seed: int
) -> None:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        client = await connect(proxy.url, network_patience=PATIENCE_S)
        session = await client.sessions.create("mock")
        turn = session.start("stream 4000 5")
        async for _ in turn.text_deltas:
            break
        proxy.silent()
        with pytest.raises(APIConnectionError) as failure:
            await asyncio.wait_for(turn.result(), LIMIT_S)
        assert failure.value.result.text.startswith("chunk 1")
        proxy.speaks()
        if seed == 1:
            proxy.cut_now()
        if seed == 2:
            await asyncio.sleep(0.2)  # the old turn goes on before the next begins
        result = await asyncio.wait_for(session.prompt("echo THE ANSWER"), LIMIT_S)
        assert result.text == "THE ANSWER" and result.stop_reason == "end_turn"
        assert not session.busy
        events = await session.events(limit=100_000)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
