"""Models and modes of installed real agents, as the agents report them."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import Driver, install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)


async def known(http: httpx.AsyncClient, agent: str) -> dict[str, Any]:
    """The description of the agent after it has been asked."""
    info: dict[str, Any] = {}
    for _ in range(1200):
        info = (await http.get(f"/v1/agents/{agent}?config=true")).json()
        if info["configStatus"] != "asking":
            break
        await asyncio.sleep(0.1)
    assert info["configStatus"] == "known" and "configError" not in info, info
    return info


@pytest.mark.clause("spec2-3-agents-rows", "decision-56")
async def test_every_listed_model_and_mode_of_codex_can_be_chosen(
    server: ServerProcess, model: FakeModel, data_home: Path, tmp_path: Path
) -> None:
    """With a key in the environment, which Codex takes only after `authenticate`."""
    config = {
        "openai_base_url": f"{model.base}/v1",
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
    }
    variables = {"CODEX_API_KEY": "dummy", "CODEX_CONFIG": json.dumps(config)}
    async with client(server) as http:
        assert (await http.post("/v1/agents/codex/install", json={}, timeout=200)).status_code == 200
    own = await asyncio.to_thread(start_server, tmp_path / "server", data_home, variables)
    try:
        async with client(own) as http:
            codex = await known(http, "codex")
            assert len(codex["models"]) > 1 and len(codex["modes"]) > 1
            async with Driver(http, "codex", "codex", cwd=str(tmp_path), env={}) as driver:
                await driver.start()
                session = (await driver.new_session())["sessionId"]
                for mode in codex["modes"]:
                    await driver.call("session/set_mode", {"sessionId": session, "modeId": mode["id"]})
                option = next(one for one in codex["configOptions"] if one["category"] == "model")
                for choice in codex["models"]:
                    value = {"configId": option["id"], "value": choice["id"]}
                    await driver.call("session/set_config_option", {"sessionId": session, **value})
    finally:
        await asyncio.to_thread(own.stop)
    assert not own.kill_leftovers()


@pytest.mark.clause("spec2-3-agents-rows", "agents-probe-directory")
async def test_models_and_modes_come_from_the_installed_agents(
    server: ServerProcess, model: FakeModel, data_home: Path, tmp_path: Path
) -> None:
    variables: dict[str, str] = {}
    async with client(server) as http:
        for agent in ("claude", "goose"):
            await install(http, agent)
            variables |= Matrix(RECIPES[agent], http, model.base, tmp_path / agent).env
    # Outside this repository: Claude names the folder of a session after the root of a repository.
    data = tmp_path / "data" / "sandbox-agent"
    data.mkdir(parents=True)
    (data / "bin").symlink_to(data_home / "sandbox-agent" / "bin")
    own = await asyncio.to_thread(start_server, tmp_path / "server", data.parent, variables)
    try:
        async with client(own) as http:
            first = (await http.get("/v1/agents/claude?config=true")).json()
            assert first["version"] == "0.99.1"
            assert first["configStatus"] == "asking" and not {"models", "modes"} & set(first)
            claude, goose = await known(http, "claude"), await known(http, "goose")
            assert {"default", "plan"} <= {mode["id"] for mode in claude["modes"]}, claude
            assert claude["models"] and claude["defaultModel"], claude
            assert os.listdir(os.path.join(variables["HOME"], ".claude", "projects")) == []
            assert {"auto", "approve"} <= {mode["id"] for mode in goose["modes"]}, goose
    finally:
        await asyncio.to_thread(own.stop)
    assert not own.kill_leftovers()
