"""The ASGI application answers one exchange of ours, in a task of its own.

Needs a running asyncio loop; loaded with the first request that the application answers.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import InternalError

if TYPE_CHECKING:
    from sandbox_agent.http.app import App
    from sandbox_agent.http.http1.quick_exchange import Exchange
    from sandbox_agent.http.messages import Message

logger = logs.Log("sandbox_agent.http")


class AsgiRun:
    def __init__(self, exchange: Exchange, app: App, tasks: set[asyncio.Task[None]]) -> None:
        """The task is kept in `tasks` for as long as it runs."""
        self._exchange = exchange
        self._arrived = asyncio.Event()
        """There may be more of the body, or it has ended, or the client has left."""
        self._room = asyncio.Event()
        """The connection may take more, or the client has left."""
        self._body_ended = False
        task = asyncio.get_running_loop().create_task(self._run(app))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        exchange.attach(self, is_stream=False)
        exchange.on_body(self._arrived.set, cancel=task.cancel)

    # ---- quick_exchange.Writer ---------------------------------------------------------------------------

    def pump(self) -> None:
        self._room.set()

    def disconnected(self) -> None:
        self._arrived.set()
        self._room.set()

    # ---- the application's side --------------------------------------------------------------------------

    async def _run(self, app: App) -> None:
        exchange, head = self._exchange, self._exchange.head
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.0" if head.http_10 else "1.1",
            "method": head.method,
            "scheme": "http",
            "path": head.path.decode("latin-1"),
            "raw_path": head.path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
        }
        try:
            if not exchange.client_left:
                await app(scope, self._receive, self._send)
        except ConnectionResetError:
            pass  # The client has left; what could still be said, nobody hears.
        except Exception:
            logger.exception("request.failed", method=head.method)
        if not exchange.client_left and not exchange.finished:
            if exchange.status:
                exchange.connection.abort()  # Cut short: an honest break beats an answer that looks complete.
            else:
                exchange.refuse(InternalError())

    async def _receive(self) -> Message:
        exchange = self._exchange
        exchange.invite_body()
        while True:
            if exchange.body_size:
                body = exchange.take_body()
                exchange.connection.update_reading()
                return {"type": "http.request", "body": body, "more_body": not exchange.complete}
            if exchange.client_left:
                return {"type": "http.disconnect"}
            if exchange.complete and not self._body_ended:
                self._body_ended = True
                return {"type": "http.request", "body": b"", "more_body": False}
            self._arrived.clear()
            await self._arrived.wait()

    async def _send(self, message: Message) -> None:
        exchange = self._exchange
        if exchange.client_left:
            raise ConnectionResetError("the client has left")
        if message["type"] == "http.response.start":
            self._start(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if body and exchange.method != "HEAD":
            if exchange.in_pieces:
                exchange.write_chunk(body)
            else:
                exchange.connection.write(body)
        if not more:
            if exchange.in_pieces and exchange.method != "HEAD":
                exchange.end_chunks()
            else:
                exchange.finish()
        elif not exchange.can_write:
            self._room.clear()
            await self._room.wait()

    def _start(self, message: Message) -> None:
        exchange = self._exchange
        status, headers = message["status"], list(message["headers"])
        sized = status in (204, 304) or any(name == b"content-length" for name, _ in headers)
        if sized or exchange.method == "HEAD":
            exchange.write_head(status, headers)
        else:
            exchange.in_pieces = True
            exchange.start_chunks(status, headers)
