"""A server with one connection over a socket pair, on the running asyncio loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from sandbox_agent.http.http1.asgi import AsgiRun
from sandbox_agent.http.http1.connection import Connection, ConnectionState
from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.http1.options import Http1Options
from sandbox_agent.http.http1.server import Http1Server
from tests.support.polling import eventually

if TYPE_CHECKING:
    from sandbox_agent.http.http1.asgi import AsgiApplication

BOUND_S = 5
GET = b"GET /a%20b?q=1 HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Http1Client:
    """The client's end of the connection, and the connection itself to look at."""

    def __init__(self, handler: Callable[[Exchange], None], **options: Any) -> None:
        chosen = {"max_header_bytes": 1000, "request_timeout_s": 10.0, "keep_alive_s": 10.0, **options}
        loop = asyncio.get_running_loop()
        self.server = Http1Server(cast(Any, loop), handler, Http1Options(**chosen))
        sock, self.socket = socket.socketpair()
        sock.setblocking(False)
        self.socket.setblocking(False)
        self.connection = Connection(self.server, sock)
        self.received = b""

    async def send(self, data: bytes) -> None:
        await asyncio.wait_for(asyncio.get_running_loop().sock_sendall(self.socket, data), BOUND_S)

    async def read_until(self, end: bytes) -> bytes:
        """What arrives up to `end`; an empty `end` is the end of the connection."""
        loop = asyncio.get_running_loop()
        while not end or end not in self.received:
            try:
                data = await asyncio.wait_for(loop.sock_recv(self.socket, 65536), BOUND_S)
            except ConnectionResetError:
                data = b""
            if not data:
                assert not end, f"the connection ended after {self.received!r}"
                found, self.received = self.received, b""
                return found
            self.received += data
        found, _, self.received = self.received.partition(end)
        return found + end

    async def response(self) -> tuple[bytes, bytes]:
        """Head and body of a response with a Content-Length."""
        head = await self.read_until(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0] or b"0")
        while len(self.received) < length:
            self.received += await asyncio.wait_for(
                asyncio.get_running_loop().sock_recv(self.socket, 65536), BOUND_S
            )
        body, self.received = self.received[:length], self.received[length:]
        return head, body

    async def wait_for_state(self, state: ConnectionState) -> None:
        await eventually(lambda: self.connection.state is state, BOUND_S)

    async def close(self) -> None:
        self.socket.close()
        self.connection.abort()
        await self.wait_for_state(ConnectionState.CLOSED)


def asgi_handler(application: AsgiApplication, **extensions: Any) -> Callable[[Exchange], None]:
    tasks: set[asyncio.Task[None]] = set()
    return lambda exchange: cast(None, AsgiRun(exchange, application, tasks, extensions))
