"""The provider that starts a server process on this machine."""

from __future__ import annotations

import os
from dataclasses import replace

from sandbox_agent.sdk.errors import SandboxDestroyedError
from sandbox_agent.sdk.providers.embedded_server import EmbeddedServer, start_server
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions


class LocalProvider(SandboxProvider):
    """A server process on this machine; it ends with this program."""

    name = "local"
    same_environment = True

    def __init__(self, options: SpawnOptions | None = None) -> None:
        self.options = options or SpawnOptions()
        self.default_cwd = self.options.cwd or os.getcwd()
        self._servers: dict[str, EmbeddedServer] = {}

    def with_agents(self, tables: str) -> LocalProvider:
        environment = {**self.options.env, "SANDBOX_AGENT_AGENTS": tables}
        return LocalProvider(replace(self.options, env=environment))

    async def create(self) -> str:
        server = await start_server(self.options)
        sandbox_id = server.base_url.removeprefix("http://")
        self._servers[sandbox_id] = server
        return sandbox_id

    async def reconnect(self, sandbox_id: str) -> None:
        if not self.alive(sandbox_id):
            raise SandboxDestroyedError(sandbox_id, self.name)

    async def destroy(self, sandbox_id: str) -> None:
        server = self._servers.pop(sandbox_id, None)
        if server is not None:
            await server.stop()

    async def get_url(self, sandbox_id: str) -> str:
        return self._servers[sandbox_id].base_url

    async def get_token(self, sandbox_id: str) -> str | None:
        return self._servers[sandbox_id].token

    def alive(self, sandbox_id: str) -> bool:
        server = self._servers.get(sandbox_id)
        return server is not None and server.alive()
