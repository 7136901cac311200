"""Models and modes of installed real agents, as the agents report them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.real_agents.conftest import client, start_server
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)


@pytest.mark.clause("spec2-3-agents-rows")
async def test_models_and_modes_come_from_the_installed_agents(
    server: ServerProcess, model: FakeModel, data_home: Path, tmp_path: Path
) -> None:
    variables: dict[str, str] = {}
    async with client(server) as http:
        for agent in ("claude", "goose"):
            answer = await http.post(f"/v1/agents/{agent}/install", json={}, timeout=200)
            assert answer.status_code == 200, answer.text
            variables |= Matrix(RECIPES[agent], http, model.base, tmp_path / agent).env
    own = await asyncio.to_thread(start_server, tmp_path / "server", data_home, variables)
    try:
        async with client(own) as http:

            async def described(agent: str) -> dict[str, Any]:
                info: dict[str, Any] = (await http.get(f"/v1/agents/{agent}?config=true")).json()
                return info

            first = await described("claude")
            assert first["version"] == "0.99.1" and "dontAsk" in str(first["modes"])
            await described("goose")
            claude, goose = {}, {}
            for _ in range(600):
                claude, goose = await described("claude"), await described("goose")
                if claude["modes"] != first["modes"] and goose.get("modes"):
                    break
                await asyncio.sleep(0.1)
            assert {"default", "plan"} <= {mode["id"] for mode in claude["modes"]}, claude
            assert claude["models"] and claude["defaultModel"], claude
            assert {"auto", "approve"} <= {mode["id"] for mode in goose["modes"]}, goose
            assert "configError" not in claude and "configError" not in goose
    finally:
        await asyncio.to_thread(own.stop)
    assert not own.kill_leftovers()
