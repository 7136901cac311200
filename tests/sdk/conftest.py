"""Servers and clients for the SDK's tests: one shared server per module, or one of its own for a test."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, asgi
from tests.sdk.live_server import LiveServer


@contextmanager
def within_a_second(known_after_s: float = 0.0) -> Iterator[None]:
    """The block ends within a second after its outcome is known; a loaded machine gets another second."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < known_after_s + 2.0


Connect = Callable[..., Awaitable[AsyncSandboxAgent]]


@pytest.fixture
async def own_server(tmp_path: Path) -> AsyncIterator[LiveServer]:
    """A server for this test only, which may be stopped, killed and restarted."""
    server = await LiveServer(tmp_path / "server").start()
    try:
        yield server
    finally:
        await server.stop()


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncSandboxAgent]:
    """A client of a server in this process, without a socket."""
    for name, folder in (("HOME", "home"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "config")):
        (tmp_path / folder).mkdir(exist_ok=True)
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.delenv("SANDBOX_AGENT_TOKEN", raising=False)
    work = tmp_path / "work"
    work.mkdir()
    LiveServer.place_agents(tmp_path / "data")
    async with await AsyncSandboxAgent.start(asgi(), default_directory=str(work)) as made:
        yield made


@pytest.fixture
async def connect(own_server: LiveServer) -> AsyncIterator[Connect]:
    """Makes clients of `own_server` that are closed at the end of the test."""
    made: list[AsyncSandboxAgent] = []

    async def build(url: str | None = None, **options: Any) -> AsyncSandboxAgent:
        options.setdefault("default_directory", str(own_server.work))
        one = await AsyncSandboxAgent.connect(url or own_server.url, own_server.token, **options)
        made.append(one)
        return one

    yield build
    for one in made:
        await one.aclose()
