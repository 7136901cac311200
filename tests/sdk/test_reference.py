"""The SDK against the reference server, as far as that one can follow."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, NotFoundError, UnsupportedAgentError, auto_approve
from sandbox_agent.sdk.universal import PermissionRequested
from tests.sdk.live_server import LiveServer

ROOT = Path(__file__).parents[2]
PREFIX = ROOT / ".cache" / "reference"
PACKAGE = "@sandbox-agent/cli-linux-x64"
BINARY = PREFIX / "node_modules" / PACKAGE / "bin" / "sandbox-agent"


def install() -> str:
    PREFIX.parent.mkdir(exist_ok=True)
    with (PREFIX.parent / "reference.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not BINARY.exists():
            command = [
                "npm",
                "install",
                "--prefix",
                str(PREFIX),
                "--no-audit",
                "--no-fund",
                f"{PACKAGE}@0.4.2",
            ]
            subprocess.run(command, check=True, timeout=300, capture_output=True)
        BINARY.chmod(0o755)
    return str(BINARY)


@pytest.fixture
async def reference(tmp_path: Path) -> AsyncIterator[AsyncSandboxAgent]:
    binary = await asyncio.to_thread(install)
    server = await LiveServer(tmp_path / "reference", binary_path=binary).start()
    client = await AsyncSandboxAgent.connect(server.url, server.token, default_directory=str(server.work))
    try:
        yield client
    finally:
        await client.aclose()
        await server.kill()


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
