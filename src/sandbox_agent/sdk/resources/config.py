"""`client.config`: MCP servers and skills configured for a directory of the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from os import fspath
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import NotFoundError
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath


class AsyncConfigEntries:
    """Named entries of one kind, stored per directory."""

    def __init__(self, api: HttpApi, kind: str, name_parameter: str) -> None:
        self._api = api
        self._path = f"/v1/config/{kind}"
        self._file = f".sandbox-agent/config/{kind}.json"
        self._name = name_parameter

    async def get(self, directory: RemotePath, name: str) -> dict[str, Any]:
        """One entry; raises `NotFoundError` if there is none."""
        answer = await self._api.request("GET", self._path, query=self._query(directory, name))
        return dict(json_codec.decode(answer.content))

    async def set(self, directory: RemotePath, name: str, entry: Mapping[str, Any]) -> None:
        """Write one entry."""
        await self._api.request("PUT", self._path, query=self._query(directory, name), json=dict(entry))

    async def delete(self, directory: RemotePath, name: str) -> None:
        """Delete one entry; an unknown name is ignored."""
        await self._api.request("DELETE", self._path, query=self._query(directory, name))

    async def list(self, directory: RemotePath) -> dict[str, dict[str, Any]]:
        """All entries of a directory by name."""
        try:
            answer = await self._api.request("GET", f"{self._path}/entries", query={"directory": directory})
        except NotFoundError:
            return await self._list_from_file(directory)
        return dict(json_codec.decode(answer.content)["entries"])

    async def _list_from_file(self, directory: RemotePath) -> dict[str, dict[str, Any]]:
        # A server without this endpoint: path and format of the file are part of the contract.
        path = f"{fspath(directory).rstrip('/')}/{self._file}"
        try:
            answer = await self._api.request("GET", "/v1/fs/file", query={"path": path})
        except NotFoundError:
            return {}
        return dict(json_codec.decode(answer.content)) if answer.content.strip() else {}

    def _query(self, directory: RemotePath, name: str) -> dict[str, str]:
        return {"directory": fspath(directory), self._name: name}


class AsyncConfig:
    """Configuration stored in a directory of the sandbox."""

    def __init__(self, api: HttpApi) -> None:
        self.mcp = AsyncConfigEntries(api, "mcp", "mcpName")
        self.skills = AsyncConfigEntries(api, "skills", "skillName")
