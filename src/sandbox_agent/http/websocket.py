"""A WebSocket as the handlers see it, on top of plain ASGI.

A handler is `async def handler(websocket, services) -> None`. What it raises before `accept` is answered with
a problem document and no upgrade; later it closes the connection with 1011. `ClientDisconnected` ends it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http import problems
from sandbox_agent.http.access.websocket_tokens import BEARER_SUBPROTOCOL
from sandbox_agent.http.messages import ClientDisconnected, Query, first_headers, with_length

if TYPE_CHECKING:
    from typing import Any

    from sandbox_agent.errors import SandboxAgentError
    from sandbox_agent.http.messages import HeaderList, Receive, Scope, Send

NORMAL, GOING_AWAY, PROTOCOL_ERROR, NO_STATUS, ABNORMAL, POLICY, TOO_BIG, INTERNAL_ERROR = (
    1000,
    1001,
    1002,
    1005,
    1006,
    1008,
    1009,
    1011,
)
"""Close codes (RFC 6455, 7.4.1)."""


class WebSocket:
    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.path_params: tuple[str, ...] = ()
        self.headers: dict[bytes, bytes] = first_headers(scope["headers"])
        self.query = Query(scope.get("query_string", b""))
        self.subprotocols: list[str] = scope.get("subprotocols", [])
        """What the client offers, without a token."""
        self._bearer = next((name for name in self.subprotocols if name.startswith(BEARER_SUBPROTOCOL)), None)
        self.subprotocols = [name for name in self.subprotocols if not name.startswith(BEARER_SUBPROTOCOL)]
        self.accepted = False
        self.close_code = ABNORMAL
        """The code of the client's close frame, after `ClientDisconnected`; `ABNORMAL` without one."""
        self._receive = receive
        self._send = send
        self._can_refuse = "websocket.http.response" in (scope.get("extensions") or {})

    async def accept(self, subprotocol: str | None = None, headers: HeaderList | None = None) -> None:
        """Upgrade. If the client has offered a token only, that is what is chosen: browsers insist on one."""
        await self._next_event("websocket.connect")
        self.accepted = True
        chosen = subprotocol or (self._bearer if not self.subprotocols else None)
        more = {"headers": headers} if headers else {}
        await self._send({"type": "websocket.accept", "subprotocol": chosen, **more})

    async def receive(self) -> str | bytes:
        """The next message. Raises ClientDisconnected."""
        message = await self._next_event("websocket.receive")
        received: str | bytes | None = message.get("text")
        return message["bytes"] if received is None else received

    async def _next_event(self, wanted: str) -> dict[str, Any]:
        message = await self._receive()
        if message["type"] != wanted:
            self.close_code = message.get("code") or ABNORMAL
            if self.close_code == NO_STATUS and "reason" not in message:
                self.close_code = ABNORMAL  # uvicorn reports a connection that was cut as 1005
            raise ClientDisconnected
        return dict(message)

    async def send(self, message: str | bytes) -> None:
        """Send a message; waits while the client does not read. Raises ClientDisconnected."""
        kind = "text" if isinstance(message, str) else "bytes"
        try:
            await self._send({"type": "websocket.send", kind: message})
        except OSError:
            raise ClientDisconnected from None

    async def close(self, code: int = NORMAL, reason: str = "") -> None:
        try:
            await self._send({"type": "websocket.close", "code": code, "reason": reason})
        except (OSError, RuntimeError):
            pass  # The client was faster.

    async def fail(self, error: SandboxAgentError, headers: HeaderList) -> None:
        """Answer with a problem document instead of the upgrade; after the upgrade, close."""
        if self.accepted:
            await self.close(INTERNAL_ERROR, error.title)
        elif not self._can_refuse:
            await self.close()  # An ASGI server without the extension answers 403.
        else:
            response = problems.response(error)
            head = with_length(response.status, [*response.headers, *headers], response.body)
            start = "websocket.http.response.start"
            await self._send({"type": start, "status": response.status, "headers": head})
            await self._send({"type": "websocket.http.response.body", "body": response.body})
