"""Where a server runs: the one thing that differs between a laptop, a test and a cloud sandbox.

A provider makes a sandbox, says how to reach the server in it, and takes it away again. `local` and
`asgi` are here; others need `name`, `create`, `destroy` and `get_url`, and may have the rest.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable
from typing import Any, Protocol, runtime_checkable

import httpx

from .asgi_transport import AsgiApp, StreamingAsgiTransport
from .embedded import EmbeddedServer, SpawnOptions, start_server
from .errors import SandboxDestroyedError

ASGI_URL = "http://localhost"


@runtime_checkable
class SandboxProvider(Protocol):
    """What `start(sandbox=...)` needs.

    What a provider may have beside it, plain or async where that makes sense:

    - `default_cwd`: where sessions work that name no directory
    - `reconnect(id)`: reach a sandbox made earlier; raises `SandboxDestroyedError` if it is gone
    - `ensure_server(id)`: start the server in it if it does not run
    - `get_token(id)`, `get_transport(id)`: the token, and a transport for servers that are not on the network
    - `alive(id)`: False only if the server is known to be gone
    - `pause(id)`, `kill(id)`: other ways to end it; without them it is destroyed
    """

    name: str

    async def create(self) -> str:
        """Make a sandbox with a server in it; returns its id."""
        ...

    async def destroy(self, sandbox_id: str) -> None:
        """Take the sandbox away."""
        ...

    def get_url(self, sandbox_id: str) -> str | Awaitable[str]:
        """The server's base URL."""
        ...


async def ask_provider(provider: SandboxProvider, method: str, sandbox_id: str, default: Any = None) -> Any:
    """Call a method that a provider may have, plain or async; the default if it has none."""
    function = getattr(provider, method, None)
    if function is None:
        return default
    answer = function(sandbox_id)
    return await answer if inspect.isawaitable(answer) else answer


class LocalProvider:
    """A server process on this machine."""

    name = "local"

    def __init__(self, options: SpawnOptions | None = None) -> None:
        self.options = options or SpawnOptions()
        self.default_cwd: str | None = self.options.cwd or os.getcwd()
        self._servers: dict[str, EmbeddedServer] = {}

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

    def get_url(self, sandbox_id: str) -> str:
        return self._servers[sandbox_id].base_url

    def get_token(self, sandbox_id: str) -> str | None:
        return self._servers[sandbox_id].token

    def get_transport(self, sandbox_id: str) -> httpx.AsyncBaseTransport | None:
        return None

    def alive(self, sandbox_id: str) -> bool:
        server = self._servers.get(sandbox_id)
        return server is not None and server.alive()


class AsgiProvider:
    """The server inside this process, without a socket: for tests and notebooks."""

    name = "asgi"

    def __init__(self, app: AsgiApp | None = None, **settings: Any) -> None:
        self.default_cwd: str | None = os.getcwd()
        self._app = app
        self._settings = settings
        self._transport: StreamingAsgiTransport | None = None

    async def create(self) -> str:
        self._transport = StreamingAsgiTransport(self._app or _own_app(self._settings))
        return "in-process"

    async def reconnect(self, sandbox_id: str) -> None:
        if self._transport is None:
            raise SandboxDestroyedError(sandbox_id, self.name)

    async def destroy(self, sandbox_id: str) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    def get_url(self, sandbox_id: str) -> str:
        return ASGI_URL

    def get_token(self, sandbox_id: str) -> str | None:
        return None

    def get_transport(self, sandbox_id: str) -> httpx.AsyncBaseTransport | None:
        return self._transport

    def alive(self, sandbox_id: str) -> bool:
        return self._transport is not None


def asgi(app: AsgiApp | None = None, **settings: Any) -> AsgiProvider:
    """A provider that runs an ASGI app in this process; by default our own, with these settings."""
    return AsgiProvider(app, **settings)


def _own_app(settings: dict[str, Any]) -> AsgiApp:
    # The one place of the client that knows the server, and only when it is asked to run it.
    from sandbox_agent.http.app import create_app
    from sandbox_agent.settings import Settings

    return create_app(Settings(**settings))
