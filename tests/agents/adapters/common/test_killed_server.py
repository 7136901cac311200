"""When the server ends, no adapter, vendor's program or running tool survives."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.agents.adapters.recipes import NATIVE_RECIPES
from tests.real_agents import home_processes
from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.support.polling import eventually

pytestmark = pytest.mark.timeout(300)
_GONE_WITHIN_S = 10.0


# SIGTERM ends agents as DELETE does, which the matrix shows for all four.
@pytest.mark.clause("adapters-nothing-survives-a-stop")
@pytest.mark.parametrize(
    ("ending", "agents"),
    [(signal.SIGTERM, ("claude-native", "codex-native")), (signal.SIGKILL, tuple(NATIVE_RECIPES))],
)
async def test_nothing_of_a_native_adapter_outlives_the_server(
    ending: signal.Signals, agents: tuple[str, ...], model: FakeModel, data_home: Path, tmp_path: Path
) -> None:
    server = await asyncio.to_thread(start_server, tmp_path / "server", data_home)
    try:
        async with client(server) as http, AsyncExitStack() as tools:
            recipes = [NATIVE_RECIPES[agent] for agent in agents]
            matrices = [Matrix(recipe, http, model.base, tmp_path / recipe.agent) for recipe in recipes]
            for agent in agents:
                await install(http, agent)
            await asyncio.gather(*(tools.enter_async_context(m.in_mid_tool()) for m in matrices))
            homes = [matrix.home for matrix in matrices]
            assert all(len(home_processes.with_home(home)) >= 3 for home in homes), "adapter, program, tool"
            server.signal(ending)
            await asyncio.to_thread(server.wait_for_exit, 10)
            await eventually(lambda: not any(map(home_processes.with_home, homes)), _GONE_WITHIN_S)
    finally:
        await asyncio.to_thread(server.stop)
        server.kill_leftovers()
