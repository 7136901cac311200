"""Fixtures for tests of your own code: a server in this process and an agent that follows a script.

Put `pytest_plugins = ["sandbox_agent.testing"]` into a `conftest.py`. `sandbox_agent_client` and
`async_sandbox_agent_client` are connected to a server of their own in a temporary home; the agent
`mock` needs no key and no network, and `scripted_agent` answers prompts as the test says.
"""

from __future__ import annotations

import json
import os
import shlex
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

SCRIPTED_AGENT_ID = "amp"
"""The agent id behind which a scripted agent stands; its launcher needs no other program."""

Script = Mapping[str, str | Sequence[str]]


class ScriptedAgent:
    """An agent that answers prompts from a table: text, or several pieces of text."""

    def __init__(self, data_home: Path) -> None:
        self.id = SCRIPTED_AGENT_ID
        self._script = data_home / "scripted-agent.json"
        self._launcher = data_home / "sandbox-agent" / "bin" / "agent_processes" / f"{self.id}-acp"
        self.answers({})
        self._launcher.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-I", "-S", _program(), str(self._script)]
        self._launcher.write_text(f"#!/bin/sh\nexec {shlex.join(command)}\n")
        self._launcher.chmod(0o755)

    def answers(self, script: Script) -> None:
        """What to say to which prompt; a prompt that is not in the table is repeated."""
        pieces = {prompt: [said] if isinstance(said, str) else list(said) for prompt, said in script.items()}
        self._script.write_text(json.dumps(pieces))


def _program() -> str:
    return str(Path(__file__).with_name("scripted_agent.py"))


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
    """An agent whose answers the test writes down: `scripted_agent.answers({"hi": "hello"})`."""
    return ScriptedAgent(sandbox_agent_home / "data")


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


def _asynchronous(function: Callable[..., Any]) -> Any:
    try:
        # Only people with asynchronous tests have it.
        import pytest_asyncio
    except ImportError:
        return pytest.fixture(name="async_sandbox_agent_client")(function)
    return pytest_asyncio.fixture(name="async_sandbox_agent_client")(function)


async_sandbox_agent_client = _asynchronous(_async_client)
