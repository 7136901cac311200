"""Gemini CLI relaunches itself unless a variable of the catalogue prevents it; all its processes end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.real_agents import home_processes
from tests.real_agents.conftest import client
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)


@pytest.mark.clause("agents-nothing-left-behind")
async def test_nothing_is_left_of_gemini_when_it_has_relaunched_itself(
    server: ServerProcess, model: FakeModel, tmp_path: Path
) -> None:
    gemini = RECIPES["gemini"]
    relaunching = replace(gemini, env={**gemini.env, "GEMINI_CLI_NO_RELAUNCH": ""})
    async with client(server) as http:
        matrix = Matrix(relaunching, http, model.base, tmp_path / "agent")
        await matrix._install()
        async with matrix.in_mid_tool() as driver:
            tree = home_processes.with_home(matrix.home)
            agents = [command for command in tree.values() if "gemini.js" in command]
            assert len(agents) == 2, f"it has not started itself again: {tree}"
            await driver.delete()
        await matrix._nothing_left()
        await matrix._killed_in_mid_tool()
