"""Fixtures of the tests of `sandbox-agent acp`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.acp.front import AGENT, Front, token_file
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess

Open = Callable[..., Awaitable[Front]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "server") as process:
        yield process


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Front]:
    front = await Front.local(tmp_path / "editor")
    yield front
    await front.close()
    await eventually(lambda: not front.left())


@pytest.fixture
async def open_remote(server: ServerProcess, tmp_path: Path) -> AsyncIterator[Open]:
    """Start fronts of the scripted agent on the server; what they leave behind fails the test."""
    fronts: list[Front] = []
    token = token_file(tmp_path, server.token or "")

    async def start(*words: str, url: str | None = None, agent: str = AGENT) -> Front:
        address = url or f"http://127.0.0.1:{server.port}"
        arguments = ("--url", address, "--token-file", token, "--agent", agent, *words)
        front = Front(tmp_path / "editor", *arguments)
        fronts.append(front)
        return await front.start()

    yield start
    for front in fronts:
        await front.close()
        await eventually(lambda front=front: not front.left())  # type: ignore[misc]
