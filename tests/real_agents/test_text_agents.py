"""Agents whose tool calls are text: installed by the API, they answer through the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real_agents.conftest import client
from tests.real_agents.driver import Driver, install, reject
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import TEXT_AGENTS
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)


@pytest.mark.full
@pytest.mark.parametrize("agent", TEXT_AGENTS)
async def test_agent_completes_turns(
    server: ServerProcess, model: FakeModel, tmp_path: Path, agent: str
) -> None:
    async with client(server) as http:
        await install(http, agent)
        env = Matrix(TEXT_AGENTS[agent], http, model.base, tmp_path).env
        async with Driver(http, f"{agent}-text", agent, cwd=str(tmp_path), env=env) as driver:
            await driver.start()
            session = (await driver.new_session())["sessionId"]
            for prompt in ("hello", "once more"):
                turn = await driver.prompt(session, prompt)
                assert turn.stop_reason == "end_turn"
                assert turn.text().endswith("A short title"), (
                    "what the model answers to requests without tools"
                )


@pytest.mark.full
@pytest.mark.clause("agents-never-ask")
async def test_gptme_runs_commands_without_asking(
    server: ServerProcess, model: FakeModel, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, "gptme")
        env = Matrix(TEXT_AGENTS["gptme"], http, model.base, tmp_path).env
        async with Driver(http, "gptme-asks", "gptme", cwd=str(tmp_path), env=env) as driver:
            await driver.start()
            driver.policies["session/request_permission"] = reject
            session = (await driver.new_session())["sessionId"]
            turn = await driver.prompt(session, f"[[code touch {tmp_path}/touched]]")
        assert (tmp_path / "touched").exists() and not turn.requests("session/request_permission")
        about = (await http.get("/v1/agents/gptme")).json()
        assert (about["permissionRequests"], about["capabilities"]["permissions"]) == ("never", False)
