"""`client.acp`: the agent instances that run in the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import NotFoundError, SandboxAgentError
from sandbox_agent.sdk.resources.acp_client import AsyncAcpClient
from sandbox_agent.sdk.resources.models import AcpInstance
from sandbox_agent.sdk.transport.http_api import HttpApi, segment


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
        """Start an agent and connect to it with ACP directly; `params` are those of `initialize`."""
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
        return [AcpInstance.from_json(one) for one in json_codec.decode(answer.content)["servers"]]

    async def get(self, server_id: str) -> AcpInstance | None:
        """One instance, or None."""
        return next((one for one in await self.list() if one.server_id == server_id), None)

    async def close(self, server_id: str) -> None:
        """End an instance and its agent process; an unknown id is ignored."""
        try:
            await self._api.request("DELETE", f"/v1/acp/{segment(server_id)}", timeout_s=10.0)
        except NotFoundError:
            return
