"""HTTP to the server with the standard library, which loads in a quarter of the time of httpx.

Each thread has a connection of its own, kept open between requests. The proxy that the environment names
(`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`) is used.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

CONNECT_TIMEOUT_S = 10.0


class Unreachable(Exception):
    """The server cannot be reached, or the connection broke; whether a request arrived is not known."""


class Reply(NamedTuple):
    status: int
    content_type: str
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def problem(self) -> dict[str, Any]:
        """The problem document of an error of the server; empty if the answer is that of a gateway."""
        if not self.content_type.startswith("application/problem+json"):
            return {}
        try:
            document = json.loads(self.body)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}

    @property
    def kind(self) -> str:
        """The last part of the problem's type, such as `session_not_found`."""
        return str(self.problem.get("type", "")).rpartition(":")[2]

    @property
    def reason(self) -> str:
        return str(self.problem.get("detail") or f"the server answered with status {self.status}")


class Server:
    """The address of a server and what every request to it carries."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        self.url = url
        self.token = token
        self.secure = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.secure else 80)
        self.path = parts.path.rstrip("/")
        self.headers = {"authorization": f"Bearer {token}"} if token is not None else {}
        self.proxy = _proxy(parts.scheme, self.host, self.port)

    def instance_path(self, server_id: str) -> str:
        return f"/v1/acp/{quote(server_id, safe='')}"


class ServerConnection:
    """One connection, used by one thread, opened again after a failure."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: http.client.HTTPConnection | None = None

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float,
    ) -> Reply:
        """One request and its whole answer. Raises Unreachable."""
        response = self.open(method, path, body, headers, timeout_s=timeout_s)
        return self.whole(response)

    def open(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        timeout_s: float,
    ) -> http.client.HTTPResponse:
        """Send a request and read the head of its answer. `timeout_s` bounds each wait for bytes."""
        try:
            connection = self._usable() or self._connect()
            connection.sock.settimeout(timeout_s)
            target = self._server.path + path
            if self._server.proxy and not self._server.secure:
                target = f"http://{self._server.host}:{self._server.port}{target}"
            connection.request(method, target, body, {**self._server.headers, **(headers or {})})
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_reason(error, self._server.url)) from error

    def whole(self, response: http.client.HTTPResponse) -> Reply:
        """The answer with its body. Raises Unreachable."""
        try:
            return Reply(response.status, response.getheader("content-type", ""), response.read())
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_reason(error, self._server.url)) from error

    def read(self, response: http.client.HTTPResponse, size: int) -> bytes:
        """The next bytes of a stream; empty at its end. Raises Unreachable."""
        try:
            return response.read1(size)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unreachable(_reason(error, self._server.url)) from error

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _usable(self) -> http.client.HTTPConnection | None:
        """The open connection, unless the server has closed it since the last request."""
        if self._connection is not None:
            sock = self._connection.sock
            if sock is None or select.select((sock,), (), (), 0)[0]:
                self.close()
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        server = self._server
        host, port = server.proxy or (server.host, server.port)
        connection: http.client.HTTPConnection
        if server.secure:
            connection = http.client.HTTPSConnection(host, port, timeout=CONNECT_TIMEOUT_S)
            if server.proxy:
                connection.set_tunnel(server.host, server.port)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
        connection.connect()
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._connection = connection
        return connection


def _proxy(scheme: str, host: str, port: int) -> tuple[str, int] | None:
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass  # 15 ms, only with a proxy

    address = getproxies().get(scheme)
    if not address or proxy_bypass(f"{host}:{port}"):
        return None
    parts = urlsplit(address if "//" in address else f"//{address}")
    return (parts.hostname, parts.port or 8080) if parts.hostname else None


def _reason(error: Exception, url: str) -> str:
    return f"no connection to {url}: {error or type(error).__name__}"
