"""`cwd` and `timeoutMs` of a local MCP server take effect under a real agent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent
from tests.real_agents.conftest import client
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)
# An MCP server whose only tool is named after the directory the server runs in.
SERVER = """
import json, os, sys

for line in sys.stdin:
    request = json.loads(line)
    method, result = request.get("method"), {}
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}}
        result["serverInfo"] = {"name": "where", "version": "1"}
    elif method == "tools/list":
        place = os.path.basename(os.getcwd())
        tool = {"name": place, "description": "runs in " + place}
        result = {"tools": [{**tool, "inputSchema": {"type": "object"}}]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.mark.clause("mcp-nothing-dropped")
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_the_model_sees_a_tool_of_a_server_with_a_directory_and_a_limit(
    agent: str, server: ServerProcess, model: FakeModel, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
    place = matrix.cwd / f"place_{os.urandom(4).hex()}"
    place.mkdir()
    (place / "where.py").write_text(SERVER)
    entry = {"type": "local", "command": ["python3", "where.py"], "cwd": place.name, "timeoutMs": 20_000}
    sdk = await AsyncSandboxAgent.connect(
        f"http://127.0.0.1:{server.port}", headers={"x-sandbox-agent-env": json.dumps(matrix.env)}
    )
    async with sdk:
        session = await sdk.sessions.create(agent, directory=str(matrix.cwd), mcp={"where": entry})
        # Some agents connect to their MCP servers in the background.
        for _ in range(20):
            await session.prompt("[[say hello]]")
            if seen := _told_of(model, place.name):
                break
        assert seen


def _told_of(model: FakeModel, place: str) -> bool:
    """Claude sends the names of its tools first, Codex names and descriptions."""
    return model.was_sent(f"mcp__where__{place}") or model.was_sent(f"runs in {place}")
