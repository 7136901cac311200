"""`client.agents`: the agents the server knows, and their installation."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.resources.install_progress import INSTALL_TIMEOUT_S, OnInstallProgress, install
from sandbox_agent.sdk.resources.models import AgentInfo, InstallResult
from sandbox_agent.sdk.transport.http_api import HttpApi, segment


class AsyncAgents:
    """The agents the server knows, and their installation."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def list(self, *, config: bool = False, no_cache: bool = False) -> list[AgentInfo]:
        """All agents; `config=True` adds versions, models and modes."""
        query = {"config": config or None, "no_cache": no_cache or None}
        answer = await self._api.request("GET", "/v1/agents", query=query)
        return [AgentInfo.from_json(one) for one in json_codec.decode(answer.content)["agents"]]

    async def get(self, agent: str, *, config: bool = False, no_cache: bool = False) -> AgentInfo:
        """One agent; raises `UnsupportedAgentError` if the server does not know it."""
        query = {"config": config or None, "no_cache": no_cache or None}
        answer = await self._api.request("GET", f"/v1/agents/{segment(agent)}", query=query)
        return AgentInfo.from_json(json_codec.decode(answer.content))

    async def install(
        self,
        agent: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
        on_progress: OnInstallProgress | None = None,
    ) -> InstallResult:
        """Install an agent unless it is installed; can take minutes. `on_progress` gets every step."""
        versions = {"agentVersion": agent_version, "agentProcessVersion": agent_process_version}
        body: dict[str, Any] = {key: value for key, value in versions.items() if value is not None}
        if reinstall:
            body["reinstall"] = True
        if on_progress is not None:
            return InstallResult.from_json(await install(self._api, agent, body, on_progress))
        answer = await self._api.request(
            "POST", f"/v1/agents/{segment(agent)}/install", json=body, timeout_s=INSTALL_TIMEOUT_S
        )
        return InstallResult.from_json(json_codec.decode(answer.content))
