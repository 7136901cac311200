"""Runs an ASGI application for one exchange, in a task of its own. Needs a running asyncio loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from sandbox_agent import logs
from sandbox_agent.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeAlias

    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.messages import Message, Receive, Scope, Send

    AsgiApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

logger = logs.Log("sandbox_agent.http")


_EVENT_STREAM = (b"content-type", b"text/event-stream")


def http_scope(exchange: Exchange, extensions: dict[str, Any]) -> Scope:
    """The ASGI connection scope of a request."""
    head = exchange.head
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.0" if head.http_10 else "1.1",
        "method": head.method,
        "scheme": "http",
        "path": unquote_to_bytes(head.path).decode("utf-8", "replace"),
        "raw_path": head.path,
        "query_string": head.query,
        "root_path": "",
        "headers": head.headers,
        "client": exchange.connection.peer_address,
        "server": exchange.connection.own_address,
        "extensions": extensions,
    }


class AsgiRun:
    """One call of the application; a `ResponseWriter` of its exchange."""

    def __init__(
        self,
        exchange: Exchange,
        application: AsgiApplication,
        tasks: set[asyncio.Task[None]],
        extensions: dict[str, Any],
    ) -> None:
        """Start the task; `tasks` refers to it for as long as it runs."""
        self._exchange = exchange
        self._body_changed = asyncio.Event()
        """More of the body has arrived, or its end, or the client has left."""
        self._can_write = asyncio.Event()
        """The connection can take more, or the client has left."""
        self._body_ended = False
        scope = http_scope(exchange, extensions)
        task = asyncio.get_running_loop().create_task(self._run(application, scope))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        exchange.attach(self)
        exchange.on_body(self._body_changed.set, cancel=task.cancel)

    # ---- ResponseWriter ----------------------------------------------------------------------------------

    def resume(self) -> None:
        self._can_write.set()

    def disconnected(self) -> None:
        self._body_changed.set()
        self._can_write.set()

    # ---- the application's side --------------------------------------------------------------------------

    async def _run(self, application: AsgiApplication, scope: Scope) -> None:
        exchange = self._exchange
        try:
            if not exchange.client_left:
                await application(scope, self._receive, self._send)
        except ConnectionResetError:
            pass  # The client has left.
        except Exception as error:
            logger.exception("request.failed", method=exchange.head.method)
            error.__traceback__ = None  # as in `Exchange.fail`
        # Without effect after a complete response: the application has returned too early, or has failed.
        exchange.fail(InternalError())

    async def _receive(self) -> Message:
        exchange, request = self._exchange, self._exchange.request
        exchange.invite_body()
        while True:
            if exchange.client_left or exchange.ended:
                return {"type": "http.disconnect"}
            if request.size or (request.complete and not self._body_ended):
                self._body_ended = request.complete
                body = exchange.take_body()
                return {"type": "http.request", "body": body, "more_body": not request.complete}
            if self._body_ended:
                exchange.watch_for_leaving()
            self._body_changed.clear()
            await self._body_changed.wait()

    async def _send(self, message: Message) -> None:
        exchange = self._exchange
        if exchange.client_left:
            raise ConnectionResetError("the client has left")
        if message["type"] == "http.response.start":
            headers = list(message["headers"])
            if _EVENT_STREAM in headers:
                exchange.attach(self, is_endless=True)
            exchange.start(message["status"], headers)
            return
        exchange.write(message.get("body", b""))
        if not message.get("more_body", False):
            exchange.end()
            self._body_changed.set()
        elif not exchange.can_write:
            self._can_write.clear()
            await self._can_write.wait()
