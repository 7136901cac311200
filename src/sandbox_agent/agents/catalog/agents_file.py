"""Read the user's agents file (docs/custom-agents.md); its tables are an `AgentTable` each.

The result holds raw tables; `agent_parser` turns one of them into an `AgentSpec` when it is needed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from sandbox_agent.agents.catalog.agent_parser import CatalogError


class AgentsFile(NamedTuple):
    """The tables of one file, in its order."""

    source: str
    """The path, for error messages."""
    agents: Mapping[str, dict[str, Any]] = MappingProxyType({})
    """`[[agent]]` tables by id."""
    profiles: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    """`[profile.NAME]` tables: sets of environment variables."""


def read_agents_file(path: str) -> AgentsFile:
    """The user's file; raises `CatalogError` if it cannot be read or is not an agents file."""
    import tomllib  # a server without an agents file does without the parser

    try:
        with open(path, encoding="utf-8") as file:
            document = tomllib.loads(file.read())
    except OSError as error:
        raise CatalogError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogError(f"{path}: not valid TOML: {error}") from error
    agents: dict[str, dict[str, Any]] = {}
    for number, table in enumerate(_agent_tables(document, path), 1):
        agent_id = table.get("id")
        if not isinstance(agent_id, str):
            raise CatalogError(f"{path}: agent {number} has no `id`")
        if agent_id in agents:
            raise CatalogError(f"{path}: agent `{agent_id}` is there twice")
        agents[agent_id] = table
    return AgentsFile(path, agents, _profile_tables(document.get("profile", {}), path))


def with_given_agents(file: AgentsFile | None, given: str) -> AgentsFile:
    """The file together with the tables of `--agents`, which replace those of the same id."""
    import json  # a server without the flag does without the parser

    fault = CatalogError("--agents is a JSON object of agents by id, with the keys of an [[agent]] table")
    try:
        tables = json.loads(given)
    except ValueError as error:
        raise fault from error
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise fault
    own = file or AgentsFile("--agents")
    source = own.source if file is None else f"{own.source} and --agents"
    return AgentsFile(source, {**own.agents, **{i: {"id": i} | t for i, t in tables.items()}}, own.profiles)


def _agent_tables(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """The `[[agent]]` tables; `[[agents]]`, `[agent.NAME]` and `[agents.NAME]` are accepted too."""
    fault = CatalogError(f"{path}: agents are written as [[agent]] tables, profiles as [profile.NAME]")
    if document.keys() - {"agent", "agents", "profile"}:
        raise fault
    found: list[dict[str, Any]] = []
    for key in ("agent", "agents"):
        tables = document.get(key, [])
        if isinstance(tables, dict) and all(isinstance(table, dict) for table in tables.values()):
            tables = [{"id": name} | table for name, table in tables.items()]
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise fault
        found += tables
    return found


def _profile_tables(tables: Any, path: str) -> dict[str, dict[str, str]]:
    fault = CatalogError(f"{path}: profiles are written as [profile.NAME] tables of strings")
    if not isinstance(tables, dict):
        raise fault
    for table in tables.values():
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise fault
    return tables
