"""`client.acp`: the agent instances that run in the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import NotFoundError, SandboxAgentError
from sandbox_agent.sdk.resources.acp_client import AsyncAcpClient
from sandbox_agent.sdk.resources.models import AcpInstance, Share
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath, segment


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
        directory: RemotePath | None = None,
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
        answer = await self._api.request("GET", "/v1/acp", query={"serverId": server_id})
        # A server of another make lists all its instances.
        found = [AcpInstance.from_json(one) for one in json_codec.decode(answer.content)["servers"]]
        return next((one for one in found if one.server_id == server_id), None)

    async def close(self, server_id: str) -> None:
        """End an instance and its agent process; an unknown id is ignored."""
        try:
            await self._api.request("DELETE", f"/v1/acp/{segment(server_id)}", timeout_s=10.0)
        except NotFoundError:
            return

    async def share(self, server_id: str, *, expires_s: float = 24 * 3600.0) -> Share:
        """Create a ticket to read an instance: its stream and its status, nothing else.

        It is valid until it expires (30 days at most), is revoked, or the instance is closed. `url` opens the
        inspector page with it. A server without a token refuses with `ConflictError`.
        """
        body = {"expiresInMs": round(expires_s * 1000)}
        answer = await self._api.request("POST", _shares(server_id), json=body)
        made = json_codec.decode(answer.content)
        return Share(
            id=made["id"],
            server_id=server_id,
            created_at_ms=made["createdAtMs"],
            expires_at_ms=made["expiresAtMs"],
            ticket=made["ticket"],
            url=f"{self._api.base_url}/ui/shared/{segment(server_id)}#ticket={made['ticket']}",
        )

    async def shares(self, server_id: str) -> Sequence[Share]:
        """The valid shares of an instance, without their tickets."""
        answer = await self._api.request("GET", _shares(server_id))
        return [
            Share(
                id=one["id"],
                server_id=server_id,
                created_at_ms=one["createdAtMs"],
                expires_at_ms=one["expiresAtMs"],
                readers=one["readers"],
            )
            for one in json_codec.decode(answer.content)["shares"]
        ]

    async def revoke(self, share: Share) -> None:
        """End a share and the streams that are open with it; one that is over is ignored."""
        try:
            await self._api.request("DELETE", f"{_shares(share.server_id)}/{segment(share.id)}")
        except NotFoundError:
            return


def _shares(server_id: str) -> str:
    return f"/v1/acp/{segment(server_id)}/shares"
