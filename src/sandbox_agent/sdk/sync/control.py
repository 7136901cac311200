"""`client.agents`, `client.acp` and `client.config`, from code without an event loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.resources.acp import AsyncAcp
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig, AsyncConfigEntries
from sandbox_agent.sdk.resources.models import AcpInstance, AgentInfo, InstallResult
from sandbox_agent.sdk.sync.acp_client import AcpClient
from sandbox_agent.sdk.sync.portal import Portal


class Agents:
    """Which agents the server knows, and their installation."""

    def __init__(self, portal: Portal, agents: AsyncAgents) -> None:
        self._portal = portal
        self._agents = agents

    def list(self, *, config: bool = False, no_cache: bool = False) -> list[AgentInfo]:
        """All agents; `config` adds versions, models and modes."""
        return self._portal.run(self._agents.list(config=config, no_cache=no_cache))

    def get(self, agent: str, *, config: bool = False, no_cache: bool = False) -> AgentInfo:
        """One agent; raises `UnsupportedAgentError` if the server does not know it."""
        return self._portal.run(self._agents.get(agent, config=config, no_cache=no_cache))

    def install(
        self,
        agent: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
    ) -> InstallResult:
        """Install an agent, or make sure that it is; can take minutes."""
        return self._portal.run(
            self._agents.install(
                agent,
                reinstall=reinstall,
                agent_version=agent_version,
                agent_process_version=agent_process_version,
            )
        )


class Acp:
    """The agent instances that run in the server."""

    def __init__(self, portal: Portal, acp: AsyncAcp) -> None:
        self._portal = portal
        self._acp = acp

    def connect(
        self,
        agent: str,
        *,
        server_id: str | None = None,
        directory: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AcpClient:
        """Start an agent and speak ACP with it directly; `params` are those of `initialize`."""
        work = self._acp.connect(agent, server_id=server_id, directory=directory, params=params)
        return AcpClient(self._portal, self._portal.run(work))

    def list(self) -> list[AcpInstance]:
        """All instances, running or exited."""
        return self._portal.run(self._acp.list())

    def get(self, server_id: str) -> AcpInstance | None:
        """One instance, or None."""
        return self._portal.run(self._acp.get(server_id))

    def close(self, server_id: str) -> None:
        """End an instance and its agent process; fine if there is none."""
        self._portal.run(self._acp.close(server_id))


class ConfigEntries:
    """Named entries of one kind, kept per directory."""

    def __init__(self, portal: Portal, entries: AsyncConfigEntries) -> None:
        self._portal = portal
        self._entries = entries

    def get(self, directory: str, name: str) -> dict[str, Any]:
        """One entry; raises `NotFoundError` if there is none."""
        return self._portal.run(self._entries.get(directory, name))

    def set(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """Write one entry."""
        self._portal.run(self._entries.set(directory, name, entry))

    def delete(self, directory: str, name: str) -> None:
        """Delete one entry; fine if there is none."""
        self._portal.run(self._entries.delete(directory, name))

    def list(self, directory: str) -> dict[str, dict[str, Any]]:
        """All entries of a directory by name."""
        return self._portal.run(self._entries.list(directory))


class Config:
    """Configuration that lives in a directory of the sandbox."""

    def __init__(self, portal: Portal, config: AsyncConfig) -> None:
        self.mcp = ConfigEntries(portal, config.mcp)
        self.skills = ConfigEntries(portal, config.skills)
