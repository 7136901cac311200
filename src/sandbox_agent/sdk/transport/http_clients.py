"""The `httpx` clients of one server, by how many requests each has open.

The connection pool of `httpx` looks at all its connections for every request: with 1,000 turns that wait in
one pool, a request takes three times as long as with one. So every pool has few open requests, and a further
one is made when all have that many. Requests that follow each other use the first pool, whose connections
are open already.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar

import httpx
from anyio import CancelScope

REQUESTS_PER_POOL = 32
# Shorter than the keep-alive limit of servers, so that a request rarely meets a closing connection.
KEEPALIVE_EXPIRY_S = 3.0


class HttpClients:
    """The clients of one server; a client or transport of the caller is the only one."""

    def __init__(
        self,
        given: httpx.AsyncClient | None,
        transport: httpx.AsyncBaseTransport | None,
        *,
        has_tls: bool = True,
    ) -> None:
        self._given = given
        self._has_tls = has_tls
        self._transport = transport
        self._made: list[httpx.AsyncClient] = []
        self._open: list[int] = []
        """The number of open requests of each client in `_made`."""
        self._tls: ssl.SSLContext | None = None
        # A load balancer that keeps a client on one server by a cookie keeps all of its requests there.
        self._cookies = CookieJar()
        self._closed = False

    @contextmanager
    def use(self) -> Iterator[httpx.AsyncClient]:
        """A client for one request, until its response is closed."""
        if self._given is not None:
            yield self._given
            return
        number = self._with_room()
        self._open[number] += 1
        try:
            yield self._made[number]
        finally:
            self._open[number] -= 1

    async def aclose(self) -> None:
        """Close all clients but one of the caller."""
        self._closed = True
        # A cancelled close would leave sockets open.
        await asyncio.shield(asyncio.gather(*(client.aclose() for client in self._made)))

    def _with_room(self) -> int:
        if self._closed:
            raise RuntimeError("Cannot send a request, as the client has been closed.")
        for number, count in enumerate(self._open):
            if count < REQUESTS_PER_POOL or self._transport is not None:
                return number
        self._made.append(self._make())
        self._open.append(0)
        return len(self._made) - 1

    def _make(self) -> httpx.AsyncClient:
        if self._tls is None:
            # The certificates of the machine take 20 ms and 0.9 MB, and a program may have a thousand clients
            # of local servers. A context without them trusts no server behind TLS.
            trusts_none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._tls = httpx.create_ssl_context() if self._has_tls else trusts_none
        return httpx.AsyncClient(
            transport=self._transport,
            verify=self._tls,
            cookies=self._cookies,
            # A connection limit would block requests behind open streams.
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEEPALIVE_EXPIRY_S
            ),
        )


async def send(client: httpx.AsyncClient, request: httpx.Request, *, stream: bool) -> httpx.Response:
    """Send a request; returns the response when its head has come, or with its body if not `stream`.

    With a request `httpx` closes connections that have expired. A task that is cancelled in that moment would
    leave their sockets open, because `httpx` shields this step only from cancel scopes of anyio. So the
    request has a task of its own, which a scope cancels.
    """
    scope = CancelScope()

    async def sending() -> httpx.Response | None:
        with scope:
            return await client.send(request, stream=stream)
        return None

    task = asyncio.create_task(sending(), name=f"send {request.method} {request.url.path}")
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        scope.cancel()
        await asyncio.wait([task])
        response = None if task.cancelled() or task.exception() is not None else task.result()
        if response is not None:
            await asyncio.shield(response.aclose())
        raise
    response = task.result()
    if response is None:
        raise asyncio.CancelledError
    return response
