"""The server, the fake model and the installed agents of tests/real_agents, for the native adapters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.agents.adapters.recipes import NATIVE_RECIPES, UPSTREAM
from tests.real_agents.conftest import client, data_home, model, server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix, Observation
from tests.support.server_process import ServerProcess

__all__ = ["data_home", "model", "server"]


@pytest.fixture(scope="session")
def observed(
    server: ServerProcess, model: FakeModel, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Observation]:
    """The observations of an adapter; all run once, two at a time, and the tests check the results."""
    seen: dict[str, Observation] = {}
    two_at_a_time = asyncio.Semaphore(2)

    async def observe(agent: str, http: httpx.AsyncClient) -> None:
        async with two_at_a_time:
            if upstream := UPSTREAM.get(agent):
                await install(http, upstream)
            matrix = Matrix(NATIVE_RECIPES[agent], http, model.base, tmp_path_factory.mktemp(agent))
            seen[agent] = await matrix.observe()

    async def observe_all() -> None:
        async with client(server) as http:
            await asyncio.gather(*(observe(agent, http) for agent in NATIVE_RECIPES))

    def get(agent: str) -> Observation:
        if not seen:
            asyncio.run(observe_all())
        return seen[agent]

    return get


@pytest.fixture(scope="session")
def program(server: ServerProcess, data_home: Path) -> Callable[[str], Path]:
    """The vendor's program of an agent, installed if it is missing."""

    def find(name: str) -> Path:
        answer = httpx.post(f"http://127.0.0.1:{server.port}/v1/agents/{name}/install", json={}, timeout=900)
        assert answer.status_code == 200, answer.text
        return data_home / "sandbox-agent" / "bin" / name.removesuffix("-native")

    return find
