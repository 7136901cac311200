"""The opening of a WebSocket at `/acp`: a new connection, or one that was lost and is resumed.

`?connection=ID&after=N` resumes after the N messages that the client has received. It needs the secret of the
first handshake, from its header `Acp-Connection-Secret` or from the cookie that the official clients return.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.acp_remote.connection_start import read_bootstrap, start_headers
from sandbox_agent.http.acp_remote.websocket.socket_receiver import SocketReceiver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.http.messages import HeaderList, Query
    from sandbox_agent.http.services import Services

SECRET = b"acp-connection-secret"
_COOKIE = b"acp_secret"
# Python refuses to read numbers of thousands of digits; any number this long is in the future.
_MAX_DIGITS = 30


class SocketOpening:
    def __init__(
        self, services: Services, agent: str | None, query: Query, headers: Mapping[bytes, bytes]
    ) -> None:
        """`agent` is the one in the path. Raises what refuses the connection."""
        connections = services.remote_connections
        connection_id = query.get("connection")
        if connection_id is not None:
            after = _read_after(query)
            connection = connections.resumed_socket(connection_id, _read_secret(headers))
            self.receiver = SocketReceiver(services, connection, after)
        else:
            connection = connections.start_socket(read_bootstrap(services, agent, query, headers))
            try:
                self.receiver = SocketReceiver(services, connection, 0)
            except BaseException:
                connections.end(connection)
                raise
        self.headers: HeaderList = [
            *start_headers(connection.id),
            (SECRET, connection.secret),
            (
                b"set-cookie",
                b"%b=%b; Path=/; HttpOnly; SameSite=Strict" % (_COOKIE, connection.secret),
            ),
        ]


def _read_after(query: Query) -> int:
    text = query.require("after")
    if not (text.isascii() and text.isdigit()):
        raise InvalidRequest("after must be the number of messages that were received")
    return int(text[:_MAX_DIGITS])


def _read_secret(headers: Mapping[bytes, bytes]) -> bytes:
    secret = headers.get(SECRET)
    if secret is not None:
        return secret.strip()
    for cookie in headers.get(b"cookie", b"").split(b";"):
        name, _, value = cookie.strip().partition(b"=")
        if name == _COOKIE:
            return value
    return b""
