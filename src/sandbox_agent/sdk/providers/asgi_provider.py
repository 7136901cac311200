"""The provider that runs the server inside this process, without a socket."""

from __future__ import annotations

import os
from typing import Any

import httpx

from sandbox_agent.sdk.errors import SandboxDestroyedError
from sandbox_agent.sdk.providers.asgi_transport import AsgiApp, StreamingAsgiTransport
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider

ASGI_URL = "http://localhost"


class AsgiProvider(SandboxProvider):
    """A server in this process, for tests and notebooks; made by `asgi()`."""

    name = "asgi"
    same_environment = True

    def __init__(self, app: AsgiApp | None = None, **settings: Any) -> None:
        self.default_cwd = os.getcwd()
        self._app = app
        self._settings = settings
        self._transport: StreamingAsgiTransport | None = None

    def with_agents(self, tables: str) -> AsgiProvider:
        if self._app is not None:
            raise ValueError(
                "agents= works with the app that asgi() makes; give your app Settings(agents=...)"
            )
        return AsgiProvider(**{**self._settings, "agents": tables})

    async def create(self) -> str:
        self._transport = StreamingAsgiTransport(self._app or _create_app(self._settings))
        return "in-process"

    async def reconnect(self, sandbox_id: str) -> None:
        if self._transport is None:
            raise SandboxDestroyedError(sandbox_id, self.name)

    async def destroy(self, sandbox_id: str) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()

    async def get_url(self, sandbox_id: str) -> str:
        return ASGI_URL

    async def get_transport(self, sandbox_id: str) -> httpx.AsyncBaseTransport | None:
        return self._transport

    def alive(self, sandbox_id: str) -> bool:
        return self._transport is not None


def asgi(app: AsgiApp | None = None, **settings: Any) -> AsgiProvider:
    """A provider that runs an ASGI app in this process; by default this package's server with `settings`."""
    return AsgiProvider(app, **settings)


def _create_app(settings: dict[str, Any]) -> AsgiApp:
    # The only import of the server in the SDK; it is loaded only when the server runs in this process.
    from sandbox_agent.http.app import create_app
    from sandbox_agent.settings import Settings

    return create_app(Settings(**settings))
