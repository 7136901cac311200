"""WebSocket at `/acp` and `/acp/{agent}` for an ASGI server; the work is done in `socket_receiver`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.access.websocket_tokens import choose_subprotocol
from sandbox_agent.http.acp_remote.websocket.asgi_socket import AsgiSocket
from sandbox_agent.http.acp_remote.websocket.socket_opening import SocketOpening

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.websocket import WebSocket


async def connect(websocket: WebSocket, services: Services) -> None:
    agent = websocket.path_params[0] if websocket.path_params else None
    opening = SocketOpening(services, agent, websocket.query, websocket.headers)
    receiver = opening.receiver
    receiver.socket = socket = AsgiSocket(websocket, receiver.changed)
    try:
        await websocket.accept(choose_subprotocol(websocket.subprotocols), opening.headers)
        receiver.pump()
        await socket.run()
    finally:
        socket.is_open = False
        receiver.changed()
