"""Published ACP clients, unchanged, start `sandbox-agent acp` in both forms."""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import acp
import pytest

from tests.cli.acp.front import Front, token_file
from tests.cli.acp.python_client import PythonClient
from tests.support.clients.published_clients import installed
from tests.support.clients.published_clients import packages as packages
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess

# The newest acpx needs a newer Node than the SDK, which npm has as a package.
NEWEST_PACKAGES = ("acpx@0.19.1", "node@22.23.3")
PROMPTS = ("echo hello", "permission")


@pytest.fixture(scope="session", params=["0.1.15", "0.19.1"])
def acpx(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The command that runs acpx."""
    if request.param == "0.1.15":
        return (str(request.getfixturevalue("packages") / ".bin" / "acpx"),)
    modules = installed("acp-clients-newest", NEWEST_PACKAGES)
    return (str(modules / "node" / "bin" / "node"), str(modules / "acpx" / "dist" / "cli.js"))


class Editor:
    """The command and environment that a client starts, and what must be gone afterwards."""

    def __init__(self, front: Front, server: ServerProcess | None) -> None:
        self.command = [sys.executable, "-m", "sandbox_agent", "acp", *front.words]
        self.environment = front.environment
        self.directory = str(front.home)
        self._front, self._server = front, server

    async def run(self, *command: str, variables: Mapping[str, str] | None = None) -> str:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**self.environment, **(variables or {})},
            cwd=self.directory,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(process.communicate(), 50)
        assert process.returncode == 0, (out[-2000:], errors[-4000:])
        return out.decode()

    async def nothing_is_left(self) -> None:
        await eventually(lambda: not self._front.left(), 20)
        if self._server is not None:
            assert self._server.client.get("/v1/acp").json()["servers"] == []


@pytest.fixture(params=["local", "remote"])
async def editor(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Editor]:
    if request.param == "local":
        yield Editor(Front(tmp_path / "editor", "--agent", "mock"), None)
        return
    server: ServerProcess = request.getfixturevalue("server")
    token = token_file(tmp_path, server.token or "")
    words = ("--url", f"http://127.0.0.1:{server.port}", "--token-file", token, "--agent", "mock")
    yield Editor(Front(tmp_path / "editor", *words), server)


@pytest.mark.clause("front-clients")
async def test_the_python_sdk_runs_turns(editor: Editor) -> None:
    client = PythonClient()
    command, *words = editor.command
    async with acp.spawn_agent_process(
        client, command, *words, env=editor.environment, cwd=editor.directory
    ) as (connection, process):
        await connection.initialize(protocol_version=1)
        session = await connection.new_session(cwd=editor.directory, mcp_servers=[])
        for text in PROMPTS:
            blocks = [acp.text_block(text)]
            turn = await connection.prompt(session_id=session.session_id, prompt=blocks)
            assert turn.stop_reason == "end_turn"
    assert process.returncode == 0
    assert client.asked == 1 and "hello" in client.texts[0]
    assert "Permission outcome: selected" in "".join(client.texts)
    await editor.nothing_is_left()


@pytest.mark.node
@pytest.mark.network
@pytest.mark.clause("front-clients")
async def test_the_typescript_sdk_runs_turns(editor: Editor, packages: Path) -> None:
    variables = {
        "PACKAGES": str(packages),
        "COMMAND": json.dumps(editor.command),
        "CWD": editor.directory,
        "PROMPTS": json.dumps(PROMPTS),
    }
    script = str(Path(__file__).with_name("sdk_turn.mjs"))
    output = await editor.run(shutil.which("node") or "node", script, variables=variables)
    seen = json.loads(output.splitlines()[-1])
    assert seen["stopReasons"] == ["end_turn", "end_turn"] and seen["asked"] == 1 and seen["code"] == 0
    assert "hello" in seen["text"] and "Permission outcome: selected" in seen["text"]
    await editor.nothing_is_left()


@pytest.mark.node
@pytest.mark.network
@pytest.mark.clause("front-clients")
@pytest.mark.parametrize(("prompt", "said"), [("echo hello", "hello"), ("permission", "Permission outcome")])
async def test_acpx_runs_a_turn(editor: Editor, acpx: tuple[str, ...], prompt: str, said: str) -> None:
    options = ("--approve-all", "--cwd", editor.directory, "--agent", shlex.join(editor.command))
    output = await editor.run(*acpx, *options, "exec", prompt)
    assert said in output
    await editor.nothing_is_left()


@pytest.mark.node
@pytest.mark.network
@pytest.mark.serial  # acpx gives a process that it starts six seconds
@pytest.mark.clause("front-clients")
async def test_acpx_continues_a_session_in_another_process(editor: Editor, acpx: tuple[str, ...]) -> None:
    options = (
        "--approve-all",
        "--ttl",
        "15",  # acpx keeps the agent for so long after a turn, and refuses a prompt while it ends it
        "--cwd",
        editor.directory,
        "--agent",
        shlex.join(editor.command),
    )
    await editor.run(*acpx, *options, "sessions", "new")
    for text in ("echo first", "echo second"):
        assert text.removeprefix("echo ") in await editor.run(*acpx, *options, "prompt", text)
    await editor.run(*acpx, *options, "sessions", "close")
    await editor.nothing_is_left()
