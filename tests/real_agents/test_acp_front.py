"""Real agents behind `sandbox-agent acp`, here and on a server, with the Python SDK as the editor."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import acp
import pytest

from tests.cli.acp.front import Front, token_file
from tests.cli.acp.python_client import PythonClient
from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(300)


async def turns(front: Front, matrix: Matrix) -> PythonClient:
    """A turn with text and one with a shell command, for which the agent asks."""
    editor = PythonClient()
    words = ("-m", "sandbox_agent", "acp", *front.words)
    async with acp.spawn_agent_process(
        editor, sys.executable, *words, env=front.environment, cwd=str(matrix.cwd)
    ) as (connection, _):
        async with asyncio.timeout(120):
            await connection.initialize(protocol_version=1)
            session = await connection.new_session(cwd=str(matrix.cwd), mcp_servers=[])
            for text in ("[[say Hello from the model]]", matrix.shell(f"touch {matrix.cwd}/touched")):
                turn = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
                assert turn.stop_reason == "end_turn"
    return editor


@pytest.mark.clause("front-real-agents")
@pytest.mark.parametrize("form", ["local", "remote"])
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode", "gemini"])
async def test_turns_of_a_real_agent_behind_the_front(
    agent: str, form: str, server: ServerProcess, model: FakeModel, data_home: Path, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
    variables = {**matrix.env, "PATH": os.environ["PATH"], "XDG_DATA_HOME": str(data_home)}
    own: ServerProcess | None = None
    words = ["--agent", agent]
    if form == "remote":
        # The variables of the agent are those of its server.
        own = await asyncio.to_thread(start_server, tmp_path / "server", data_home, matrix.env)
        words += ["--url", f"http://127.0.0.1:{own.port}", "--token-file", token_file(tmp_path, "none")]
    front = Front(tmp_path / "editor", *words, environment=variables)
    try:
        editor = await turns(front, matrix)
        assert "Hello from the model" in "".join(editor.texts)
        assert editor.asked >= 1 and (matrix.cwd / "touched").exists()
        await eventually(lambda: not front.left(), 20)
    finally:
        if own is not None:
            await asyncio.to_thread(own.stop)
            assert not own.kill_leftovers()
