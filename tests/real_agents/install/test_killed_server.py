"""When the server ends, no agent and no tool of an agent survives."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest

from tests.real_agents import home_processes
from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)
_GONE_WITHIN_S = 10.0


# claude keeps its tools in sessions of their own, opencode ignores SIGTERM in a tool, goose leaves its tool.
@pytest.mark.clause("agents-nothing-left-behind")
@pytest.mark.parametrize("agent", ["claude", "opencode", "goose"])
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_nothing_of_a_real_agent_outlives_its_server(
    agent: str,
    ending: signal.Signals,
    server: ServerProcess,
    model: FakeModel,
    data_home: Path,
    tmp_path: Path,
) -> None:
    async with client(server) as http:
        await install(http, agent)
    own = await asyncio.to_thread(start_server, tmp_path / "server", data_home)
    try:
        async with client(own) as http:
            matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
            async with matrix.in_mid_tool():
                assert len(home_processes.with_home(matrix.home)) >= 2
                own.signal(ending)
                await asyncio.to_thread(own.wait_for_exit, 10)
                await eventually(lambda: not home_processes.with_home(matrix.home), _GONE_WITHIN_S)
    finally:
        await asyncio.to_thread(own.stop)
        own.kill_leftovers()
