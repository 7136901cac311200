"""Messages and streams of `/acp` for `http1`, without a task and an ASGI scope per request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.access.websocket_tokens import choose_subprotocol
from sandbox_agent.http.acp_remote.remote_post import RemotePost
from sandbox_agent.http.acp_remote.sse_receiver import SseReceiver, find_stream
from sandbox_agent.http.messages import Query, decode_segment, offered_subprotocols

if TYPE_CHECKING:
    from sandbox_agent.http.access.access_check import AccessGranted
    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.services import Services


def handle(exchange: Exchange, services: Services, granted: AccessGranted) -> None:
    """Handle a POST, a GET or a WebSocket. Raises what is wrong with it."""
    if exchange.head.method == "POST":
        _post_message(exchange, services, granted)
    elif exchange.head.wants_websocket:
        _open_websocket(exchange, services)
    else:
        _open_stream(exchange, services, granted)


def _post_message(exchange: Exchange, services: Services, granted: AccessGranted) -> None:
    head = exchange.head
    agent = _agent(head.path)

    def handle(_: Exchange, body: bytes) -> None:
        RemotePost(services, agent, head.query, head.header_map, exchange, granted.headers).handle(body)

    exchange.collect_body(services.settings.max_message_bytes, handle)


def _open_stream(exchange: Exchange, services: Services, granted: AccessGranted) -> None:
    connection, stream, after = find_stream(services, exchange.head.header_map)
    SseReceiver(exchange, services, connection, stream, after, granted.headers)


def _open_websocket(exchange: Exchange, services: Services) -> None:
    from sandbox_agent.http.acp_remote.websocket.socket_opening import (
        SocketOpening,  # with the first WebSocket
    )
    from sandbox_agent.http.http1.websocket.websocket_connection import WebSocketConnection
    from sandbox_agent.http.http1.websocket.websocket_handshake import WebSocketHandshake

    head = exchange.head
    handshake = WebSocketHandshake(head, services.settings.max_message_bytes)
    opening = SocketOpening(services, _agent(head.path), Query(head.query), head.header_map)
    subprotocol = choose_subprotocol(offered_subprotocols(head.headers))
    answer = handshake.accept(subprotocol, opening.headers)
    server, transport, unread = exchange.upgrade()
    receiver = opening.receiver
    receiver.socket = socket = WebSocketConnection(server, transport, handshake.protocol, receiver.changed)
    socket.begin(answer, unread)
    receiver.pump()


def _agent(path: bytes) -> str | None:
    _, _, segment = path.removeprefix(b"/").partition(b"/")
    return decode_segment(segment) if segment else None
