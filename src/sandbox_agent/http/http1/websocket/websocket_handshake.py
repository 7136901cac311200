"""The opening handshake of a WebSocket: is the request one, and the 101 that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from websockets.http11 import Request
from websockets.server import ServerProtocol

from sandbox_agent import logs
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.http1 import response_head

if TYPE_CHECKING:
    from websockets.http11 import Response

    from sandbox_agent.http.http1.request_head import RequestHead
    from sandbox_agent.http.messages import HeaderList

logs.forward("websockets.server")
# The headers that the protocol looks at.
_OF_HANDSHAKE = (b"connection", b"upgrade")
_PREFIX = b"sec-websocket-"
# Compression would cost a server in a small sandbox up to 300 KB for each connection.
_EXTENSIONS = b"sec-websocket-extensions"
_VERSION = "13"


class WebSocketHandshake:
    def __init__(self, head: RequestHead, max_bytes: int) -> None:
        """Raises InvalidRequest."""
        self.protocol = ServerProtocol(max_size=max_bytes)
        self.protocol.receive_data(_plain_request(head.headers))
        (request,) = self.protocol.events_received() or (None,)
        if not isinstance(request, Request):
            raise InvalidRequest(f"not a WebSocket handshake: {self.protocol.handshake_exc}")
        self._response: Response = self.protocol.accept(request)
        if self._response.status_code != 101:
            refusal = InvalidRequest(f"not a WebSocket handshake: {self.protocol.handshake_exc}")
            refusal.headers["sec-websocket-version"] = _VERSION  # RFC 6455, 4.4
            raise refusal

    def accept(self, subprotocol: str | None, headers: HeaderList) -> bytes:
        """The 101 response; from now on the protocol reads frames. Raises InvalidHeader."""
        if subprotocol is not None:
            headers = [*headers, (b"sec-websocket-protocol", subprotocol.encode("ascii"))]
        response_head.encode(101, tuple(headers))  # checks them
        for name, value in headers:
            self._response.headers[name.decode("ascii")] = value.decode("latin-1")
        self.protocol.send_response(self._response)
        return b"".join(self.protocol.data_to_send())


def _plain_request(headers: HeaderList) -> bytes:
    """The request without what HTTP/1.1 has already dealt with, so that both never disagree."""
    lines = [b"GET / HTTP/1.1"]
    for name, value in headers:
        if name in _OF_HANDSHAKE or (name.startswith(_PREFIX) and name != _EXTENSIONS):
            lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join((*lines, b"", b""))
