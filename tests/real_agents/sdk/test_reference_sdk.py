"""The reference's unchanged TypeScript SDK uses real agents through this server."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.reference_clients.conftest import packages as packages
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)
_SCRIPT = Path(__file__).with_name("reference_sdk_turn.mjs")


@pytest.mark.clause("agents-typescript-sdk")
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_turns_of_a_real_agent_through_the_typescript_sdk(
    agent: str, server: ServerProcess, model: FakeModel, data_home: Path, packages: Path, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
    # That SDK has no variables per instance, so the server's environment points to the model.
    own = await asyncio.to_thread(start_server, tmp_path / "server", data_home, matrix.env)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PACKAGES": str(packages),
        "BASE_URL": f"http://127.0.0.1:{own.port}",
        "AGENT": agent,
        "CWD": str(matrix.cwd),
        "TEXT_PROMPT": "[[say Hello from the model]]",
        "TOOL_PROMPT": matrix.shell("printf 'hello-%s' from-the-tool"),
    }
    try:
        node = await asyncio.create_subprocess_exec(
            shutil.which("node") or "node",
            str(_SCRIPT),
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await asyncio.wait_for(node.communicate(), 120)
    finally:
        await asyncio.to_thread(own.stop)
    assert node.returncode == 0, errors.decode()
    seen = json.loads(output.splitlines()[-1])
    assert seen["stopReasons"] == ["end_turn", "end_turn"]
    assert "Hello from the model" in seen["text"] and "hello-from-the-tool" in seen["text"]
    assert seen["asked"] == 1 and "tool_call" in seen["kinds"]
    assert not own.kill_leftovers()
