"""`spawn_server()`: a local server without a client, for programs that use its HTTP API themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from sandbox_agent.sdk.providers.embedded_server import EmbeddedServer, start_server
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions
from sandbox_agent.sdk.sync.portal import Portal


class SpawnedServer:
    """A server process on this machine; `close` it, or use it as a context manager."""

    def __init__(self, portal: Portal, server: EmbeddedServer) -> None:
        self._portal = portal
        self._server = server

    def __repr__(self) -> str:
        return f"<SpawnedServer {self.base_url}, process {self.pid}, {'running' if self.alive else 'ended'}>"

    @property
    def base_url(self) -> str:
        """The address of the server."""
        return self._server.base_url

    @property
    def token(self) -> str:
        """The token that requests need."""
        return self._server.token

    @property
    def pid(self) -> int:
        """The id of the server's process."""
        return self._server.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._server.alive()

    def close(self) -> None:
        """Stop the server and its agents; a second call does nothing."""
        if not self._portal.closed:
            self._portal.run(self._server.stop())
            self._portal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def spawn_server(options: SpawnOptions | Mapping[str, Any] | None = None) -> SpawnedServer:
    """Start a server on this machine and wait until it is healthy.

    It ends with `close`, or with this program. Raises `SpawnError` with the tail of its log.
    """
    chosen = SpawnOptions.of(options)
    # The kernel ends the server with the thread that has started it; the thread of a portal stays.
    portal = Portal()
    try:
        return SpawnedServer(portal, portal.run(start_server(chosen)))
    except BaseException:
        portal.close()
        raise
