"""Long turns and networks that interrupt them: early headers, gateways, silent streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox_agent import AgentExitedError, AsyncSandboxAgent
from sandbox_agent.http.app import create_app
from sandbox_agent.sdk.providers.asgi_transport import StreamingAsgiTransport
from sandbox_agent.settings import Settings
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer

# Longer than the time of EARLY: the header and some blanks have been sent.
AFTER_THE_HEADER_S = 0.4
EARLY = ("--acp-early-header-ms", "150", "--acp-early-header-interval-ms", "50")


@pytest.fixture
async def early_client(own_server: LiveServer, connect: Connect) -> AsyncSandboxAgent:
    """A client of a server that sends the header of a response long before its body."""
    await own_server.stop()
    own_server.arguments = EARLY
    await own_server.start()
    return await connect()


@pytest.mark.clause("decision-15-client")
async def test_early_headers_and_blanks_before_the_answer_are_understood(
    early_client: AsyncSandboxAgent,
) -> None:
    session = await early_client.sessions.create("mock")
    assert (await session.prompt("slow 700")).stop_reason == "end_turn"
    async with session.stream("hang") as turn:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        await asyncio.sleep(AFTER_THE_HEADER_S)
        await turn.cancel()
        assert (await turn.result()).stop_reason == "cancelled"


@pytest.mark.clause("decision-15-client")
async def test_a_failure_after_early_headers_is_the_same_exception(early_client: AsyncSandboxAgent) -> None:
    session = await early_client.sessions.create("mock")
    async with session.stream("hang hard") as turn:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        await asyncio.sleep(AFTER_THE_HEADER_S)
        await early_client.acp.close(str(session.info.server_id))
        with pytest.raises(AgentExitedError):
            await asyncio.wait_for(turn.result(), 20)


class ImpatientGateway(httpx.AsyncBaseTransport):
    """Answers prompts with its own 504 page while the request goes on behind it."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner
        self.behind: list[asyncio.Task[Any]] = []
        self.pages = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = b""
        if request.method == "POST" and request.url.path.startswith("/v1/acp/"):
            body = await request.aread()
        if b'"session/prompt"' not in body:
            return await self.inner.handle_async_request(request)
        self.behind.append(asyncio.create_task(self._finish(request)))
        self.pages += 1
        return httpx.Response(504, html="<h1>Gateway Time-out</h1>")

    async def _finish(self, request: httpx.Request) -> None:
        response = await self.inner.handle_async_request(request)
        await response.aread()
        await response.aclose()

    async def aclose(self) -> None:
        await asyncio.gather(*self.behind)
        await self.inner.aclose()


@pytest.fixture
async def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ImpatientGateway]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    yield ImpatientGateway(StreamingAsgiTransport(create_app(Settings())))


@pytest.mark.clause("sdk-gateway")
async def test_the_page_of_a_gateway_does_not_end_the_turn(gateway: ImpatientGateway, tmp_path: Path) -> None:
    async with await AsyncSandboxAgent.connect(
        "http://localhost", "", transport=gateway, default_directory=str(tmp_path)
    ) as client:
        session = await client.sessions.create("mock")
        assert (await session.prompt("stream 5 30")).text.count("chunk") == 5
        assert gateway.pages == 1


@pytest.mark.clause("sdk-reconnect")
async def test_a_stream_that_falls_silent_is_dropped_and_read_again(
    own_server: LiveServer, connect: Connect
) -> None:
    client = await connect(network_patience=2.0)
    session = await client.sessions.create("mock")
    result = await session.prompt("slow 3200")  # silent for longer than the reader waits, 1.5 s
    assert result.stop_reason == "end_turn"
    events = await session.events(limit=1000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
