"""An HTTP/1.1 server: a listener, its connections, and their time-outs.

What a request means is left to the `handler`, which gets an `Exchange` for every request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.http.http1.connection import Connection
from sandbox_agent.http.http1.listener import Listener

if TYPE_CHECKING:
    import asyncio
    from socket import socket

    from sandbox_agent.http.http1.exchange import Handler
    from sandbox_agent.http.http1.options import Http1Options
    from sandbox_agent.runtime.loop import Loop, LoopTimer

logger = logs.Log("sandbox_agent.http")

_TICK_S = 1.0


class Http1Server:
    def __init__(self, loop: Loop, handler: Handler, options: Http1Options) -> None:
        self.loop = loop
        self.handler = handler
        self.options = options
        self.stopping = False
        """Responses end their connections."""
        self._connections: set[Connection] = set()
        self._all_closed: asyncio.Future[None] | None = None
        self._listener: Listener | None = None
        self._ticker: LoopTimer | None = None

    def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError."""
        self._listener = Listener(self.loop, host.strip("[]"), port, self._accept)
        self._ticker = self.loop.call_later(_TICK_S, self._tick)
        return self._listener.port

    def _accept(self, sock: socket) -> None:
        self._connections.add(Connection(self, sock))

    def connection_closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        waiter = self._all_closed
        if waiter is not None and not self._connections and not waiter.done():
            waiter.set_result(None)

    def _tick(self) -> None:
        self._ticker = self.loop.call_later(_TICK_S, self._tick)
        now = self.loop.time()
        for connection in list(self._connections):
            try:
                connection.check_time(now)
            except Exception:
                logger.exception("connection.failed")
                connection.abort()

    def stop_accepting(self) -> None:
        """Close the listener and idle connections; requests in progress are answered."""
        self.stopping = True
        if self._listener is not None:
            self._listener.close()
        for connection in list(self._connections):
            connection.close_if_idle()

    async def close(self, limit_s: float) -> None:
        """Wait for the last responses, at most for `limit_s`, then abort what is left."""
        import asyncio  # loaded already: this is a coroutine

        if self._connections:
            self._all_closed = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._all_closed], timeout=limit_s)
        if self._ticker is not None:
            self._ticker.cancel()
        for connection in list(self._connections):
            connection.abort()
