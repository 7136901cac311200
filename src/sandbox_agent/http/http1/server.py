"""An HTTP/1.1 server: a listener, its connections, and their time-outs.

What a request means is left to the `handler`, which gets an `Exchange` for every request. The last
descriptors are not for connections: agents, files and modules need them. A connection that would take one is
answered with a 503 problem and closed.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import OutOfDescriptors
from sandbox_agent.http.http1 import response_head
from sandbox_agent.http.http1.connection import Connection
from sandbox_agent.http.http1.sockets.hangup_watch import HangupWatch
from sandbox_agent.http.http1.sockets.listener import Listener
from sandbox_agent.runtime import descriptors

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator
    from socket import socket
    from typing import Protocol

    from sandbox_agent.http.http1.exchange import Handler
    from sandbox_agent.http.http1.options import Http1Options
    from sandbox_agent.runtime.loop import Loop, LoopTimer

    class ServedConnection(Protocol):
        """A connection of HTTP/1.1, or of the protocol that it was upgraded to."""

        def check_time(self, now: float) -> None:
            """Called about once a second: end what takes too long."""

        def server_stops(self) -> None:
            """End, unless an answer is under way."""

        def abort(self) -> None: ...

        @property
        def is_awaited(self) -> bool:
            """The client waits for a response, or for more of it."""

        def delivered(self) -> tuple[int, bool]:
            """The bytes that have reached the client, and whether others have not."""


logger = logs.Log("sandbox_agent.http")

_TICK_S = 1.0
# Of the descriptors up to the limit, those that connections do not get. Half of them are for refused
# connections that stay open until their 503 has arrived.
RESERVED_DESCRIPTORS = 32
_DISCARDED_BYTES = 64 * 1024


class Http1Server:
    def __init__(self, loop: Loop, handler: Handler, options: Http1Options) -> None:
        self.loop = loop
        self.handler = handler
        self.options = options
        self.stopping = False
        """Responses end their connections."""
        self.hangups = HangupWatch(loop)
        self._connections: set[ServedConnection] = set()
        self._all_closed: asyncio.Future[None] | None = None
        self._listener: Listener | None = None
        self._ticker: LoopTimer | None = None
        self._is_prepared = False
        """What refusals need has been loaded."""

    def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError."""
        self._listener = Listener(self.loop, host.strip("[]"), port, self._accept, self._refuse_now)
        self._ticker = self.loop.call_later(_TICK_S, self._tick)
        return self._listener.port

    def _accept(self, sock: socket) -> None:
        # The kernel gives out the lowest free number, so the number tells how many are in use.
        in_use, limit = sock.fileno(), descriptors.limit()
        reserved = min(RESERVED_DESCRIPTORS, limit // 4)
        if in_use >= limit // 2 and not self._is_prepared:
            self._load_what_refusals_need()
        if in_use < limit - reserved // 2:
            connection = Connection(self, sock)
            self.connection_opened(connection)
            if in_use >= limit - reserved:
                connection.refuse(OutOfDescriptors())
        else:
            self._refuse_now(sock)

    def _refuse_now(self, sock: socket) -> None:
        """Answer 503 and close, without waiting for the request or for the client to read."""
        try:
            sock.send(self._refusal)
            sock.recv(_DISCARDED_BYTES)  # Closing with unread data would reset the connection.
        except OSError:
            pass  # Nothing has arrived, or the client has left.
        sock.close()

    @cached_property
    def _refusal(self) -> bytes:
        from sandbox_agent.http import problems  # loaded below, or with the reserve of the loop

        response = problems.response(OutOfDescriptors())
        length = (b"content-length", b"%d" % len(response.body))
        headers = (*response.headers, *self.options.problem_headers, length, (b"connection", b"close"))
        return response_head.encode(response.status, headers)[0] + b"\r\n" + response.body

    def _load_what_refusals_need(self) -> None:
        """Load modules that are otherwise loaded on first use, when there may be no descriptor for them."""
        try:
            for name in ("traceback", "httptools", "sandbox_agent.http.problems"):
                __import__(name)
            self._is_prepared = True
        except (OSError, ImportError) as error:
            if descriptors.ran_out(error) and self.loop.release_reserve():
                self._load_what_refusals_need()

    def connection_opened(self, connection: ServedConnection) -> None:
        self._connections.add(connection)

    def connection_closed(self, connection: ServedConnection) -> None:
        self._connections.discard(connection)
        waiter = self._all_closed
        if waiter is not None and not self._connections and not waiter.done():
            waiter.set_result(None)

    def awaited(self) -> Iterator[ServedConnection]:
        """The connections whose clients wait for a response, or for more of it."""
        return (connection for connection in self._connections if connection.is_awaited)

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
            connection.server_stops()

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
