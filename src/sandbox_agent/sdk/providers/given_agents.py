"""Agents given in Python: `start(agents={"mine": ["python", "agent.py"]})`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

Command = Sequence[str | PathLike[str]]
GivenAgents = Mapping[str, Command | Mapping[str, Any]]
"""Commands by agent id, or tables with the keys of an agents.toml (docs/custom-agents.md)."""


def agent_tables(agents: GivenAgents) -> str:
    """The tables for the server, as JSON; raises `TypeError` for anything that is no command."""
    if not isinstance(agents, Mapping):
        raise TypeError(
            f'agents is a mapping by id, such as {{"mine": ["python", "agent.py"]}}, not {agents!r}'
        )
    return json.dumps({str(agent): _table(str(agent), given) for agent, given in agents.items()})


def _table(agent: str, given: object) -> dict[str, Any]:
    if isinstance(given, Mapping):
        command = given.get("command")
        words = [command] if isinstance(command, str | PathLike) else list(command or ())
        words += list(given.get("args") or ())
        rest = {str(key): value for key, value in given.items() if key not in ("command", "args")}
        # A table without a command changes a built-in agent, for example its variables.
        return {**rest, **_command(agent, words)} if words else rest
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise TypeError(
            f'the command of agent {agent!r} is a list, such as ["python", "agent.py"], not {given!r}'
        )
    return _command(agent, list(given))


def _command(agent: str, words: list[Any]) -> dict[str, Any]:
    if not all(isinstance(word, str | PathLike) for word in words):
        raise TypeError(f"the command of agent {agent!r} is a list of texts and paths, not {words!r}")
    program, *arguments = [fspath(word) for word in words]
    # A program without a slash is searched on PATH, as in a shell.
    program = _from_here(program) if "/" in program else program
    return {"command": program, "args": [_from_here(word) for word in arguments]}


def _from_here(word: str) -> str:
    """An argument that names a file, as an absolute path: the agent runs in the directory of its session."""
    is_path = ("." in word or "/" in word) and os.path.isfile(word)
    return os.path.abspath(word) if is_path else word
