"""Agents given in Python: `start(agents={"mine": ["python", "agent.py"]})`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, SandboxAgent, SpawnError, SpawnOptions, asgi, docker
from tests.sdk.live_server import PLAIN_AGENT

pytestmark = pytest.mark.clause("sdk-given-agents")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with `agent.py`, in which the program runs; the sessions have another one."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "agent.py").write_text(PLAIN_AGENT.read_text())
    monkeypatch.chdir(tmp_path / "program")
    return tmp_path / "program"


async def test_a_command_becomes_an_agent_of_a_server_in_this_process(program: Path) -> None:
    (program / "work").mkdir()
    async with AsyncSandboxAgent.start(asgi(), agents={"mine": [sys.executable, "agent.py"]}) as client:
        listed = [agent.id for agent in await client.agents.list()]
        assert "mine" in listed and "claude" in listed
        session = await client.sessions.create("mine", directory=program / "work")
        assert "hello there" in (await session.prompt("hello there")).text


def test_a_local_server_gets_the_agents_and_keeps_those_of_its_file(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "XDG_CONFIG_HOME" / "sandbox-agent" / "agents.toml"
    file.parent.mkdir()
    file.write_text('[[agent]]\nid = "filed"\ncommand = "/bin/cat"\n')
    agent = {"command": [sys.executable, program / "agent.py"], "args": ["--models"], "name": "My agent"}
    with SandboxAgent.start(agents={"mine": agent}) as client:
        assert {"filed", "mine"} <= {one.id for one in client.agents.list()}
        session = client.sessions.create("mine")
        assert session.config_options
        # What the server was given is not for the processes in the sandbox.
        shown = client.processes.run(["sh", "-c", "echo ${SANDBOX_AGENT_AGENTS-none}"])
        assert shown.stdout.strip() == "none"


@pytest.mark.parametrize(
    ("agents", "error"),
    [
        (["python", "agent.py"], TypeError),
        ({"mine": "python agent.py"}, TypeError),
        ({"mine": []}, TypeError),
        ({"mine": [1, 2]}, TypeError),
    ],
)
def test_a_wrong_form_is_named_before_anything_starts(agents: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="agent"):
        AsyncSandboxAgent.start(agents=agents)


def test_other_servers_refuse_them() -> None:
    agents = {"mine": ["agent"]}
    with pytest.raises(ValueError, match=r"agents\.toml"):
        AsyncSandboxAgent.start(docker("image"), agents=agents)
    with pytest.raises(ValueError, match="spawn=False"):
        AsyncSandboxAgent.start(spawn=False, agents=agents)
    with pytest.raises(ValueError, match="Settings"):
        AsyncSandboxAgent.start(asgi(_app), agents=agents)
    wrong: Any = {"agents": agents}
    with pytest.raises(TypeError, match="start"):
        AsyncSandboxAgent.connect("http://127.0.0.1:1", **wrong)


async def test_a_table_with_an_unknown_key_is_named_by_the_server(program: Path) -> None:
    with pytest.raises(SpawnError, match="comand"):
        await AsyncSandboxAgent.start(
            agents={"mine": {"comand": "x"}}, spawn=SpawnOptions(cwd=str(program), timeout=30)
        )


async def _app(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("no request is sent")
