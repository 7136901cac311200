"""The `httpx` clients of one server, by the path of the request.

Every instance keeps a stream open, and the connection pool of `httpx` looks at all its connections for every
request: with 1,000 instances in one pool, a request takes three times as long as with one. So paths are
spread over several pools, which are made when they are needed and share one TLS context.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib

import httpx

POOLS = 64
# Shorter than the keep-alive limit of servers, so that a request rarely meets a closing connection.
KEEPALIVE_EXPIRY_S = 3.0


class HttpClients:
    """The clients of one server; a client or transport of the caller is the only one."""

    def __init__(self, given: httpx.AsyncClient | None, transport: httpx.AsyncBaseTransport | None) -> None:
        self._given = given
        self._transport = transport
        self._made: dict[int, httpx.AsyncClient] = {}
        self._tls: ssl.SSLContext | None = None
        self._closed = False

    def of(self, path: str) -> httpx.AsyncClient:
        """The client for requests to this path."""
        if self._given is not None:
            return self._given
        pool = 0 if self._transport is not None else zlib.crc32(path.encode()) % POOLS
        client = self._made.get(pool)
        if client is None:
            client = self._made[pool] = self._make()
        return client

    async def aclose(self) -> None:
        """Close all clients but one of the caller."""
        made, self._closed = list(self._made.values()), True
        await asyncio.gather(*(client.aclose() for client in made))

    def _make(self) -> httpx.AsyncClient:
        if self._closed:
            raise RuntimeError("Cannot send a request, as the client has been closed.")
        if self._tls is None:
            self._tls = httpx.create_ssl_context()
        return httpx.AsyncClient(
            transport=self._transport,
            verify=self._tls,
            # A connection limit would block requests behind open streams.
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEEPALIVE_EXPIRY_S
            ),
        )
