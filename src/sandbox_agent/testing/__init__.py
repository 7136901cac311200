"""Pytest fixtures for tests of code that uses the SDK: a server in this process and a scripted agent.

Put `pytest_plugins = ["sandbox_agent.testing"]` into a `conftest.py`. `sandbox_agent_client` and
`async_sandbox_agent_client` are connected to a server of their own with a temporary home directory. The
agents `mock` and `scripted` need no key and no network; `scripted` answers prompts from a table that the
test sets with the fixture `scripted_agent`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, SandboxAgent, asgi

__all__ = [
    "ScriptedAgent",
    "async_sandbox_agent_client",
    "sandbox_agent_client",
    "sandbox_agent_home",
    "scripted_agent",
]

Script = Mapping[str, str | Sequence[str]]


class ScriptedAgent:
    """An agent that answers prompts from a table: with one text, or with several chunks."""

    id = "scripted"
    """The agent id, for `client.sessions.create(scripted_agent.id)`."""

    def __init__(self, home: Path) -> None:
        self._script = home / "scripted-agent.json"
        self.answers({})

    def answers(self, script: Script) -> None:
        """Set the answer to each prompt; a prompt that is not in the table is echoed."""
        chunks = {prompt: [said] if isinstance(said, str) else list(said) for prompt, said in script.items()}
        self._script.write_text(json.dumps(chunks), encoding="utf-8")

    def agents_file(self) -> str:
        """The entry of this agent in an `agents.toml`."""
        program = Path(__file__).with_name("scripted_agent.py")
        args = ["-I", "-S", str(program), str(self._script)]
        # JSON strings and arrays of strings are valid TOML.
        values = {"id": self.id, "command": sys.executable, "args": args}
        return "\n".join(
            ["[[agent]]", *(f"{key} = {json.dumps(value)}" for key, value in values.items()), ""]
        )


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@pytest.fixture
def sandbox_agent_home(tmp_path: Path) -> Iterator[Path]:
    """A home directory for the server of this test; nothing outside it is written to."""
    home = tmp_path / "sandbox-home"
    for folder in ("data", "config", "cache", "work"):
        (home / folder).mkdir(parents=True)
    agents_file = home / "config" / "sandbox-agent" / "agents.toml"
    agents_file.parent.mkdir()
    agents_file.write_text(ScriptedAgent(home).agents_file(), encoding="utf-8")
    changes = {
        "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
    }
    with _environment(changes):
        yield home


@pytest.fixture
def scripted_agent(sandbox_agent_home: Path) -> ScriptedAgent:
    """The scripted agent of the server: `scripted_agent.answers({"hi": "hello"})`."""
    return ScriptedAgent(sandbox_agent_home)


@pytest.fixture
def sandbox_agent_client(sandbox_agent_home: Path) -> Iterator[SandboxAgent]:
    """A synchronous client of a server in this process."""
    with SandboxAgent.start(asgi(), default_directory=str(sandbox_agent_home / "work")) as client:
        yield client


async def _async_client(sandbox_agent_home: Path) -> AsyncIterator[AsyncSandboxAgent]:
    """An asynchronous client of a server in this process; needs pytest-asyncio."""
    directory = str(sandbox_agent_home / "work")
    async with await AsyncSandboxAgent.start(asgi(), default_directory=directory) as client:
        yield client


def _async_fixture(function: Callable[..., Any]) -> Any:
    try:
        # An optional dependency, installed by users with asynchronous tests.
        import pytest_asyncio
    except ImportError:
        return pytest.fixture(name="async_sandbox_agent_client")(function)
    return pytest_asyncio.fixture(name="async_sandbox_agent_client")(function)


async_sandbox_agent_client = _async_fixture(_async_client)
