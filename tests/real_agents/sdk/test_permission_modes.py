"""The permission modes of the legacy API on real agents: what they are called there, and their effect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, PermissionRequest
from tests.real_agents.conftest import client
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)
# As root, Claude offers to bypass permissions only in a sandbox.
_VARIABLES = {"claude": {"IS_SANDBOX": "1"}}


@pytest.mark.clause("spec2-3.1-permission-mode")
@pytest.mark.parametrize(
    ("agent", "bypass", "mode", "effect"),
    [
        ("claude", "bypassPermissions", "plan", ""),
        # The model asks for more rights than the sandbox gives, which is pointless without a sandbox.
        ("codex", "agent-full-access", "agent", "approval policy is Never"),
    ],
)
async def test_bypass_asks_nothing_and_default_keeps_the_mode(
    agent: str, bypass: str, mode: str, effect: str, server: ServerProcess, model: FakeModel, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
    environment = matrix.env | _VARIABLES.get(agent, {})
    asked: list[PermissionRequest] = []

    async def allow(request: PermissionRequest) -> str:
        asked.append(request)
        return "once"

    sdk = await AsyncSandboxAgent.connect(
        f"http://127.0.0.1:{server.port}",
        headers={"x-sandbox-agent-env": json.dumps(environment)},
        on_permission=allow,
    )
    async with sdk:
        careful = await sdk.sessions.create(agent, directory=str(matrix.cwd))
        await careful.prompt(matrix.shell(f"touch {matrix.home}/careful"))
        assert len(asked) == 1
        bold = await sdk.sessions.create(agent, directory=str(matrix.cwd), permission_mode="bypass")
        assert not bold.restored.not_applied
        assert (bold.info.permission_mode, bold.info.agent_mode) == ("bypass", bypass)
        result = await bold.prompt(matrix.shell(f"touch {matrix.home}/bold"))
        assert len(asked) == 1 and effect in result.text
        assert effect or (matrix.home / "bold").exists()
        both = await sdk.sessions.create(
            agent, directory=str(matrix.cwd), mode=mode, permission_mode="default"
        )
        assert both.info.agent_mode == mode and not both.restored.not_applied
