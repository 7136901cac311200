"""The small namespaces of the client: `agents`, `acp`, and `config` with `mcp` and `skills`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from . import wire
from .acp_client import AsyncAcpClient
from .errors import NotFoundError, SandboxAgentError
from .http_api import HttpApi, segment
from .models import AcpInstance, AgentInfo, InstallResult

INSTALL_TIMEOUT_S = 600.0


class AsyncAgents:
    """Which agents the server knows, and their installation."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def list(self, *, config: bool = False, no_cache: bool = False) -> list[AgentInfo]:
        """All agents; `config` adds versions, models and modes."""
        query = {"config": config or None, "no_cache": no_cache or None}
        answer = await self._api.request("GET", "/v1/agents", query=query)
        return [AgentInfo.from_json(one) for one in wire.decode(answer.content)["agents"]]

    async def get(self, agent: str, *, config: bool = False, no_cache: bool = False) -> AgentInfo:
        """One agent; raises `UnsupportedAgentError` if the server does not know it."""
        query = {"config": config or None, "no_cache": no_cache or None}
        answer = await self._api.request("GET", f"/v1/agents/{segment(agent)}", query=query)
        return AgentInfo.from_json(wire.decode(answer.content))

    async def install(
        self,
        agent: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
    ) -> InstallResult:
        """Install an agent, or make sure that it is; can take minutes."""
        wishes = {"agentVersion": agent_version, "agentProcessVersion": agent_process_version}
        body: dict[str, Any] = {key: value for key, value in wishes.items() if value is not None}
        if reinstall:
            body["reinstall"] = True
        answer = await self._api.request(
            "POST", f"/v1/agents/{segment(agent)}/install", json=body, timeout_s=INSTALL_TIMEOUT_S
        )
        return InstallResult.from_json(wire.decode(answer.content))


class AsyncAcp:
    """The agent instances that run in the server."""

    def __init__(self, api: HttpApi, server_alive: Callable[[], bool] | None = None) -> None:
        self._api = api
        self._server_alive = server_alive

    async def connect(
        self,
        agent: str,
        *,
        server_id: str | None = None,
        directory: str | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> AsyncAcpClient:
        """Start an agent and speak ACP with it directly; `params` are those of `initialize`."""
        client = AsyncAcpClient(self._api, server_id, server_alive=self._server_alive)
        try:
            await client.initialize(agent, directory=directory, params=params)
        except BaseException:
            with suppress(SandboxAgentError):
                await client.aclose()
            raise
        return client

    async def list(self) -> list[AcpInstance]:
        """All instances, running or exited."""
        answer = await self._api.request("GET", "/v1/acp")
        return [AcpInstance.from_json(one) for one in wire.decode(answer.content)["servers"]]

    async def get(self, server_id: str) -> AcpInstance | None:
        """One instance, or None."""
        return next((one for one in await self.list() if one.server_id == server_id), None)

    async def close(self, server_id: str) -> None:
        """End an instance and its agent process; fine if there is none."""
        try:
            await self._api.request("DELETE", f"/v1/acp/{segment(server_id)}", timeout_s=10.0)
        except NotFoundError:
            return


class AsyncConfigEntries:
    """Named entries of one kind, kept per directory."""

    def __init__(self, api: HttpApi, kind: str, name_parameter: str) -> None:
        self._api = api
        self._path = f"/v1/config/{kind}"
        self._file = f".sandbox-agent/config/{kind}.json"
        self._name = name_parameter

    async def get(self, directory: str, name: str) -> dict[str, Any]:
        """One entry; raises `NotFoundError` if there is none."""
        answer = await self._api.request("GET", self._path, query=self._query(directory, name))
        return dict(wire.decode(answer.content))

    async def set(self, directory: str, name: str, entry: Mapping[str, Any]) -> None:
        """Write one entry."""
        await self._api.request("PUT", self._path, query=self._query(directory, name), json=dict(entry))

    async def delete(self, directory: str, name: str) -> None:
        """Delete one entry; fine if there is none."""
        await self._api.request("DELETE", self._path, query=self._query(directory, name))

    async def list(self, directory: str) -> dict[str, dict[str, Any]]:
        """All entries of a directory by name."""
        try:
            answer = await self._api.request("GET", f"{self._path}/entries", query={"directory": directory})
        except NotFoundError:
            return await self._list_from_file(directory)
        return dict(wire.decode(answer.content)["entries"])

    async def _list_from_file(self, directory: str) -> dict[str, dict[str, Any]]:
        # A server without the list: the file's place and form are part of the contract.
        path = f"{directory.rstrip('/')}/{self._file}"
        try:
            answer = await self._api.request("GET", "/v1/fs/file", query={"path": path})
        except NotFoundError:
            return {}
        return dict(wire.decode(answer.content)) if answer.content.strip() else {}

    def _query(self, directory: str, name: str) -> dict[str, str]:
        return {"directory": directory, self._name: name}


class AsyncConfig:
    """Configuration that lives in a directory of the sandbox."""

    def __init__(self, api: HttpApi) -> None:
        self.mcp = AsyncConfigEntries(api, "mcp", "mcpName")
        self.skills = AsyncConfigEntries(api, "skills", "skillName")
