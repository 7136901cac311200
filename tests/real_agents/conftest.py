"""One server and one fake model for all tests with real agents, and a data directory that is kept.

The agents are installed through the API, the first time into an empty directory. `.cache/agents` keeps them
between runs, in a folder named after the pinned versions; SANDBOX_AGENT_TEST_AGENTS sets another directory.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.sources.node import NODE_VERSION
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix, Observation
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

_CACHE = Path(__file__).parents[2] / ".cache" / "agents"


def pins() -> str:
    """A hash of all pinned versions."""
    catalog = Catalog()
    steps = [[step.packages for step in catalog.get(agent).usual_steps] for agent in RECIPES]
    return hashlib.sha256(f"{steps} {NODE_VERSION}".encode()).hexdigest()[:12]


@pytest.fixture(scope="session")
def data_home() -> Path:
    """The directory of installed agents; packages of older pins are removed."""
    if named := os.environ.get("SANDBOX_AGENT_TEST_AGENTS"):
        return Path(named)
    current = _CACHE / pins()
    for other in _CACHE.glob("*"):
        if other != current:
            shutil.rmtree(other, ignore_errors=True)
    current.mkdir(parents=True, exist_ok=True)
    return current


@pytest.fixture(scope="session")
def model() -> Iterator[FakeModel]:
    with FakeModel() as running:
        yield running


def start_server(
    directory: Path, data_home: Path, variables: Mapping[str, str] | None = None
) -> ServerProcess:
    """A server that may install; `variables` are added to its environment."""
    settings = {"XDG_DATA_HOME": str(data_home), "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0"}
    return ServerProcess(directory, settings=settings | dict(variables or {}), token=None).ready()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, data_home: Path) -> Iterator[ServerProcess]:
    with start_server(tmp_path_factory.mktemp("server"), data_home) as running:
        yield running


def client(server: ServerProcess) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None)
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=60, limits=limits)


@pytest.fixture(scope="session")
def observed(
    server: ServerProcess, model: FakeModel, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Observation]:
    """The observations of an agent, which runs once for all its tests."""
    seen: dict[str, Observation] = {}

    async def observe(agent: str) -> Observation:
        async with client(server) as http:
            directory = tmp_path_factory.mktemp(agent)
            return await Matrix(RECIPES[agent], http, model.base, directory).observe()

    def get(agent: str) -> Observation:
        if agent not in seen:
            seen[agent] = asyncio.run(observe(agent))
        return seen[agent]

    return get
