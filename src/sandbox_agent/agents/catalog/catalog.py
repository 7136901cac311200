"""Which agents exist: the built-in catalogue (`agents.toml`) and the user's own file over it.

`Catalog.load` reads nothing but a user's file. The built-in catalogue is never parsed: `builtin_tables` holds
what `agents.toml` says, made by `scripts/agent_tables` and loaded with the first agent other than `mock`.
A user's table for a built-in id overrides single keys; with `command` it replaces how the agent starts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent import settings
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES, AgentSpec, CatalogError, parse_agent
from sandbox_agent.errors import UnsupportedAgent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["BUILTIN_IDS", "AgentSpec", "Catalog", "CatalogError"]

BUILTIN_IDS = (
    *("claude", "codex", "opencode", "amp", "pi", "cursor", "mock"),
    *("gemini", "qwen", "copilot", "goose", "kimi-code", "mistral-vibe", "grok", "hermes", "fast-agent"),
    *("claude-native", "codex-native", "opencode-native", "amp-native"),
)
"""The ids of `agents.toml` in its order, known without loading it; a test keeps the two equal."""

_REPLACED_BY_COMMAND = ("args", "install", "on_path", "native", "native_file", "registry", "node", "adapter")


class Catalog:
    """The known agents. Cheap to make; loads the built-in ones at their first real use."""

    def __init__(
        self,
        own_agents: Mapping[str, Mapping[str, Any]] | None = None,
        profiles: Mapping[str, Mapping[str, str]] | None = None,
        source: str = "agents file",
    ) -> None:
        self._own_agents = dict(own_agents or {})
        self._profiles = {name: dict(values) for name, values in (profiles or {}).items()}
        self._source = source
        self._specs: dict[str, AgentSpec] = {}

    @classmethod
    def load(cls, user_file: str | Path | None = None) -> Catalog:
        """The built-in agents plus those of `user_file`, or of the default place if there is a file.

        Raises `CatalogError` for a file that was asked for and is missing, or that is not valid.
        """
        path = settings.default_agents_file() if user_file is None else os.fspath(user_file)
        if user_file is None and not os.path.exists(path):
            return cls()
        catalog = cls(*_read_user_file(path), source=path)
        for agent_id in catalog._own_agents:
            catalog.get(agent_id)
        return catalog

    def ids(self) -> tuple[str, ...]:
        """All ids in the order of `GET /v1/agents`: the reference's, the further ones, the user's."""
        return BUILTIN_IDS + tuple(agent_id for agent_id in self._own_agents if agent_id not in BUILTIN_IDS)

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in BUILTIN_IDS or agent_id in self._own_agents

    def get(self, agent_id: str) -> AgentSpec:
        """The agent of that id; raises `UnsupportedAgent`."""
        if agent_id not in self:
            raise UnsupportedAgent(agent_id)
        spec = self._specs.get(agent_id)
        if spec is None:
            spec = self._specs[agent_id] = self._parse(agent_id)
        return spec

    def profile(self, name: str) -> Mapping[str, str] | None:
        """The environment variables of a `[profile.NAME]` table of the user's file."""
        return self._profiles.get(name)

    def _parse(self, agent_id: str) -> AgentSpec:
        own = self._own_agents.get(agent_id)
        if agent_id == "mock" and own is None:
            return _MOCK
        if agent_id not in BUILTIN_IDS:
            return parse_agent(own or {}, f"{self._source}: agent `{agent_id}`")
        # Imported here: a server that only runs the mock does without.
        from sandbox_agent.agents.catalog.builtin_tables import TABLES

        table = dict(TABLES[agent_id])
        if own is not None:
            if "command" in own:
                table = {key: value for key, value in table.items() if key not in _REPLACED_BY_COMMAND}
                table["builtin"] = False
            table.update(own)
        return parse_agent(table, f"{self._source}: agent `{agent_id}`")


def _read_user_file(path: str) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]]]:
    # Imported here: most servers have no agents file of their own.
    import tomllib

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
    return agents, _read_profiles(document.get("profile", {}), path)


def _agent_tables(document: dict[str, Any], path: str) -> list[dict[str, Any]]:
    """`[[agent]]` tables; the plural and `[agents.NAME]` are understood too."""
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


def _read_profiles(tables: Any, path: str) -> dict[str, dict[str, str]]:
    fault = CatalogError(f"{path}: profiles are written as [profile.NAME] tables of strings")
    if not isinstance(tables, dict):
        raise fault
    for table in tables.values():
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise fault
    return tables


_MOCK = AgentSpec(
    id="mock",
    name="Mock",
    builtin=True,
    capabilities=frozenset(CAPABILITIES) - {"sharedProcess"},
    options={
        "model": ("mock", "mock-fast"),
        "mode": ("normal", "plan"),
        "thought_level": ("low", "medium", "high"),
    },
)
"""What `agents.toml` says of the mock, at hand without loading it; a test keeps the two equal."""
