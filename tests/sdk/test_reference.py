"""The SDK with the reference server, for the features that server has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_agent import (
    APIConnectionError,
    AsyncSandboxAgent,
    Attachment,
    NotFoundError,
    SandboxAgent,
    UnsupportedAgentError,
    auto_approve,
)
from sandbox_agent.sdk.universal import PermissionRequested
from tests.sdk.conftest import within_a_second
from tests.sdk.live_server import LiveServer
from tests.support.clients.published_clients import installed

PACKAGE = "@sandbox-agent/cli-linux-x64"


def install() -> str:
    binary = installed("reference", (f"{PACKAGE}@0.4.2",)) / PACKAGE / "bin" / "sandbox-agent"
    binary.chmod(0o755)
    return str(binary)


@pytest.fixture
async def reference_server(tmp_path: Path) -> AsyncIterator[LiveServer]:
    binary = await asyncio.to_thread(install)
    server = await LiveServer(tmp_path / "reference", binary_path=binary).start()
    try:
        yield server
    finally:
        await server.kill()


@pytest.fixture
async def reference(reference_server: LiveServer) -> AsyncIterator[AsyncSandboxAgent]:
    async with await AsyncSandboxAgent.connect(
        reference_server.url, reference_server.token, default_directory=str(reference_server.work)
    ) as client:
        yield client


@pytest.mark.clause("sdk-reference")
@pytest.mark.timeout(120)
async def test_sessions_turns_and_permissions_work_on_the_reference(reference: AsyncSandboxAgent) -> None:
    session = await reference.sessions.create("amp", mode="wild", on_permission=auto_approve)
    assert session.info.agent_mode == "wild"
    assert (await session.prompt("hello reference")).text == "hello reference"
    assert '"optionId": "yes"' in (await session.prompt("ask")).text
    session.handlers.on_permission = None
    async with session.stream("ask") as turn:
        async for event in turn:
            if isinstance(event, PermissionRequested):
                break
    assert (await turn.result()).stop_reason == "cancelled"
    events = await session.events(limit=1000)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))


@pytest.mark.clause("sdk-reference")
@pytest.mark.timeout(120)
async def test_turns_are_streamed_and_attachments_sent_on_the_reference(
    reference: AsyncSandboxAgent, reference_server: LiveServer, tmp_path: Path
) -> None:
    session = await reference.sessions.create("amp", id="mine", title="T", directory=str(tmp_path))
    (tmp_path / "notes.txt").write_text("milk")
    async with session.stream("blocks", attachments=[]) as turn:
        assert '"text": "blocks"' in "".join([piece async for piece in turn.text_deltas])
    result = await session.prompt("look", attachments=[Attachment("notes.txt", embed=True), "notes.txt"])
    assert result.text == "look resource resource_link" and result.stop_reason == "end_turn"
    await session.terminate()
    await session.terminate()
    assert (await session.events(limit=1000))[-1].type == "session.ended"

    def without_a_loop() -> str:
        with SandboxAgent.connect(reference_server.url, reference_server.token) as client:
            return client.sessions.create("amp", directory=str(tmp_path)).prompt("hello").text

    assert await asyncio.to_thread(without_a_loop) == "hello"


@pytest.mark.clause("sdk-reference")
@pytest.mark.timeout(120)
async def test_the_end_of_the_reference_is_reported_and_the_conversation_goes_on_with_the_next(
    reference: AsyncSandboxAgent, reference_server: LiveServer
) -> None:
    session = await reference.sessions.create("amp", mode="wild")
    await session.prompt("my name is Ada")
    async with session.stream("ask") as turn:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        await reference_server.kill()
        with within_a_second(), pytest.raises(APIConnectionError):
            await turn.result()
    await reference_server.start()
    assert "user: my name is Ada" in (await session.prompt("and now?")).text
    assert session.restored.method == "replayed" and session.info.agent_mode == "wild"


@pytest.mark.clause("sdk-reference")
@pytest.mark.timeout(120)
async def test_files_config_and_errors_are_understood_on_the_reference(
    reference: AsyncSandboxAgent, tmp_path: Path
) -> None:
    await reference.fs.write(str(tmp_path / "a" / "f.txt"), b"data")
    await reference.fs.download_dir(str(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "b" / "f.txt").read_text() == "data"
    await reference.config.mcp.set(str(tmp_path), "one", {"type": "local", "command": "c"})
    assert set(await reference.config.mcp.list(str(tmp_path))) == {"one"}
    with pytest.raises(NotFoundError):
        await reference.config.mcp.get(str(tmp_path), "two")
    with pytest.raises(UnsupportedAgentError):
        await reference.sessions.create("nobody")
    assert "mock" in {agent.id for agent in await reference.agents.list()}
