"""Which agents exist: the built-in ones, those of the user's file, and those given to the server.

A user's table for a built-in id overrides single keys; with `command` it replaces how the agent starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from sandbox_agent import settings
from sandbox_agent.agents.catalog.agent_parser import CatalogError, parse_agent
from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.catalog.agents_file import AgentsFile, read_agents_file, with_given_agents
from sandbox_agent.agents.catalog.builtin import BUILTIN_AGENTS, builtin_agent
from sandbox_agent.errors import UnsupportedAgent

__all__ = ["AgentSpec", "Catalog", "CatalogError", "builtin_ids"]

_REPLACED_BY_COMMAND = frozenset(
    {"args", "install", "on_path", "native", "native_file", "registry", "node", "adapter", "builtin"}
)


def builtin_ids() -> tuple[str, ...]:
    """The ids of the built-in agents, in their order."""
    return tuple(BUILTIN_AGENTS)


class Catalog:
    """The known agents. A table is parsed when its agent is first asked for."""

    def __init__(self, user_file: AgentsFile | None = None) -> None:
        self._user = user_file or AgentsFile("agents file")
        self._specs: dict[str, AgentSpec] = {}

    @classmethod
    def load(cls, user_file: str | os.PathLike[str] | None = None, given: str | None = None) -> Catalog:
        """The built-in agents, those of `user_file`, and the JSON tables `given`, which take precedence.

        None is the default path, if the file exists. Raises `CatalogError` if a file that was named is
        missing, or if any agent is not valid.
        """
        path = settings.default_agents_file() if user_file is None else os.fspath(user_file)
        own = None if user_file is None and not os.path.exists(path) else read_agents_file(path)
        if given is not None:
            own = with_given_agents(own, given)
        if own is None:
            return cls()
        catalog = cls(own)
        for agent_id in own.agents:
            catalog.get(agent_id)
        return catalog

    def ids(self) -> tuple[str, ...]:
        """All ids in the order of `GET /v1/agents`: the built-in ones, then the user's."""
        return tuple(dict.fromkeys([*builtin_ids(), *self._user.agents]))

    def __contains__(self, agent_id: object) -> bool:
        return agent_id in self._user.agents or agent_id in BUILTIN_AGENTS

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
        return self._user.profiles.get(name)

    def _parse(self, agent_id: str) -> AgentSpec:
        table: Mapping[str, object] = builtin_agent(agent_id) if agent_id in BUILTIN_AGENTS else {}
        own = self._user.agents.get(agent_id, {})
        if "command" in own:
            table = {key: value for key, value in table.items() if key not in _REPLACED_BY_COMMAND}
        return parse_agent({**table, **own}, f"{self._user.source}: agent `{agent_id}`")
