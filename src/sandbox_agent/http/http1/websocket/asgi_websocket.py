"""Runs an ASGI application for one WebSocket, in a task of its own. Needs a running asyncio loop.

Until the application accepts, the connection is an ordinary HTTP/1.1 one that waits for its answer: a refusal
(`websocket.http.response`) is an ordinary response, and the next request may follow.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import InternalError
from sandbox_agent.http.http1.asgi import http_scope
from sandbox_agent.http.http1.websocket.websocket_connection import ABNORMAL, WebSocketConnection
from sandbox_agent.http.http1.websocket.websocket_handshake import WebSocketHandshake
from sandbox_agent.http.messages import offered_subprotocols

if TYPE_CHECKING:
    from typing import Any

    from sandbox_agent.http.http1.asgi import AsgiApplication
    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.messages import Message, Scope

logger = logs.Log("sandbox_agent.http")

_INTERNAL_ERROR = 1011


class AsgiWebSocketRun:
    """One call of the application; a `ResponseWriter` of the exchange until the application accepts."""

    def __init__(
        self,
        exchange: Exchange,
        application: AsgiApplication,
        tasks: set[asyncio.Task[None]],
        extensions: dict[str, Any],
    ) -> None:
        """Start the task; `tasks` refers to it for as long as it runs. Raises InvalidRequest."""
        self._exchange = exchange
        self._handshake = WebSocketHandshake(exchange.head, exchange.connection.options.websocket_max_bytes)
        self._connection: WebSocketConnection | None = None
        self._changed = asyncio.Event()
        self._told_connect = False
        task = asyncio.get_running_loop().create_task(
            self._run(application, websocket_scope(exchange, extensions))
        )
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        exchange.attach(self)

    # ---- ResponseWriter ----------------------------------------------------------------------------------

    def resume(self) -> None:
        self._changed.set()

    def disconnected(self) -> None:
        self._changed.set()

    # ---- the application's side --------------------------------------------------------------------------

    async def _run(self, application: AsgiApplication, scope: Scope) -> None:
        try:
            if not self._exchange.client_left:
                await application(scope, self._receive, self._send)
        except ConnectionResetError:
            pass  # The client has left.
        except Exception as error:
            logger.exception("websocket.failed", path=scope["path"])
            error.__traceback__ = None  # as in `Exchange.fail`
        if self._connection is not None:
            # Without effect after a close: the application has returned without one, or has failed.
            self._connection.close(_INTERNAL_ERROR)
        else:
            self._exchange.fail(InternalError())  # without effect after a refusal

    async def _receive(self) -> Message:
        if not self._told_connect:
            self._told_connect = True
            return {"type": "websocket.connect"}
        while True:
            self._changed.clear()
            connection = self._connection
            if connection is None:
                if self._exchange.client_left or self._exchange.ended:
                    return {"type": "websocket.disconnect", "code": ABNORMAL, "reason": ""}
            elif (message := connection.take()) is not None:
                kind = "text" if isinstance(message, str) else "bytes"
                return {"type": "websocket.receive", kind: message}
            elif not connection.is_open:
                code, reason = connection.close_code
                return {"type": "websocket.disconnect", "code": code, "reason": reason}
            await self._changed.wait()

    async def _send(self, message: Message) -> None:
        if self._exchange.client_left:
            raise ConnectionResetError("the client has left")
        if self._connection is None:
            self._answer(message)
            return
        connection = self._connection
        if not connection.is_open:
            raise ConnectionResetError("the client has left")
        if message["type"] == "websocket.close":
            connection.close(message.get("code", 1000), message.get("reason") or "")
            return
        data = message.get("bytes")
        connection.send(data if data is not None else message["text"])
        while not connection.can_write and connection.is_open:
            self._changed.clear()
            await self._changed.wait()

    def _answer(self, message: Message) -> None:
        """Before the upgrade: accept, or refuse with a response."""
        exchange, kind = self._exchange, message["type"]
        if kind == "websocket.accept":
            head = self._handshake.accept(message.get("subprotocol"), list(message.get("headers") or ()))
            server, transport, unread = exchange.upgrade()
            self._connection = WebSocketConnection(
                server, transport, self._handshake.protocol, self._changed.set
            )
            self._connection.begin(head, unread)
        elif kind == "websocket.close":
            exchange.respond(403, [])
        elif kind == "websocket.http.response.start":
            exchange.start(message["status"], list(message["headers"]))
        else:
            exchange.write(message.get("body", b""))
            if not message.get("more_body", False):
                exchange.end()
                self._changed.set()


def websocket_scope(exchange: Exchange, extensions: dict[str, Any]) -> Scope:
    """The ASGI connection scope of a WebSocket."""
    scope = http_scope(exchange, {"websocket.http.response": {}, **extensions})
    del scope["method"]
    return {
        **scope,
        "type": "websocket",
        "scheme": "ws",
        "subprotocols": offered_subprotocols(exchange.head.headers),
    }
