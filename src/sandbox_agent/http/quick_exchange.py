"""One request and its answer on a connection of ours.

`Exchange` can be answered in three ways: a whole `Response`, the reply of an ACP POST (`acp_post.Reply`), or
by running the ASGI application. It writes HTTP/1.1 and knows when the answer is complete.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sandbox_agent.errors import InternalError, InvalidRequest, PayloadTooLarge, SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.exchange import JSON, HeaderList, Message, Response, first_headers
from sandbox_agent.http.guard import VARY

if TYPE_CHECKING:
    import httptools

    from sandbox_agent.http.app import App
    from sandbox_agent.http.connection import Connection
    from sandbox_agent.http.server import HttpServer
    from sandbox_agent.http.services import Services

logger = logging.getLogger("sandbox_agent.http")

_BODY_HIGH_WATER = 1024 * 1024
_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus
}
_STATUS_LINES[421] = b"HTTP/1.1 421 Misdirected Request\r\n"
# Spelled out because strftime speaks the user's language.
_DAYS = b"Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class _Date:
    """The date header, made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self.line = b""

    def current(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            now = time.gmtime(second)
            self.line = b"date: %b, %02d %b %d %02d:%02d:%02d GMT\r\n" % (
                _DAYS[now.tm_wday],
                now.tm_mday,
                _MONTHS[now.tm_mon - 1],
                now.tm_year,
                now.tm_hour,
                now.tm_min,
                now.tm_sec,
            )
        return self.line


_date = _Date()


class Exchange:
    __slots__ = (
        "_announced",
        "_arrived",
        "_body",
        "_body_size",
        "_chunked",
        "_connection",
        "_disconnected",
        "_expects_continue",
        "_finished",
        "_http_10",
        "_quick",
        "_receiving",
        "_server",
        "_status",
        "_stream",
        "_task",
        "_writable",
        "complete",
        "extra_headers",
        "fault",
        "head_complete",
        "header_map",
        "headers",
        "keep_alive",
        "method",
        "path",
        "query",
        "target",
    )

    def __init__(self, connection: Connection, server: HttpServer) -> None:
        self._connection = connection
        self._server = server
        self.target = b""
        self.headers: HeaderList = []
        self.header_map: dict[bytes, bytes] = {}
        self.method = "GET"
        self.path = b"/"
        self.query = b""
        self.head_complete = False
        self.complete = False
        """The whole request has arrived."""
        self.keep_alive = False
        self.extra_headers: HeaderList = [VARY]
        self.fault: SandboxAgentError | None = None
        """What is wrong with the head, if anything."""
        self._http_10 = False
        self._expects_continue = False
        self._body: list[bytes] = []
        self._body_size = 0
        self._receiving: Callable[[], None] | None = None
        self._arrived: asyncio.Event | None = None
        self._writable: asyncio.Event | None = None
        self._quick: QuickPost | None = None
        self._stream: Any = None
        self._task: asyncio.Task[None] | None = None
        self._announced = False
        self._chunked = False
        self._status = 0
        self._disconnected = False
        self._finished = False

    # ---- the request arrives -----------------------------------------------------------------------------

    def take_head(self, parser: httptools.HttpRequestParser) -> None:
        self.head_complete = True
        self.method = parser.get_method().decode("ascii")
        self._http_10 = parser.get_http_version() == "1.0"
        self.keep_alive = parser.should_keep_alive()
        self.header_map = first_headers(self.headers)
        if len(self.header_map) < len(self.headers) and self._count(b"host") > 1:
            self.fault = InvalidRequest("more than one Host header")
        self._expects_continue = self.header_map.get(b"expect", b"").lower() == b"100-continue"
        target = self.target
        if not target.startswith(b"/"):
            _, separator, rest = target.partition(b"://")
            target = b"/" + rest.partition(b"/")[2] if separator else target
        path, _, query = target.partition(b"?")
        self.path, self.query = path, query.partition(b"#")[0]

    def _count(self, name: bytes) -> int:
        return sum(header == name for header, _ in self.headers)

    def feed(self, data: bytes) -> None:
        if self._status and not self._announced:
            return  # Answered already; the rest of the body is of no interest.
        self._body.append(data)
        self._body_size += len(data)
        if self._receiving:
            self._receiving()

    def finish_body(self) -> None:
        self.complete = True
        if self._receiving:
            self._receiving()

    @property
    def is_full(self) -> bool:
        """As much of the body waits here as may; the client has to wait until somebody takes it."""
        return self._quick is None and self._body_size > _BODY_HIGH_WATER

    @property
    def body_size(self) -> int:
        return self._body_size

    def take_body(self) -> bytes:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body, self._body_size = [], 0
        return body

    def when_receiving(self, callback: Callable[[], None] | None) -> None:
        """Called with every piece of the body and at its end."""
        self._receiving = callback

    def invite_body(self) -> None:
        """Tell a client that asked first that its body is welcome."""
        if self._expects_continue and not self.complete:
            self._expects_continue = False
            self._connection.write(_CONTINUE)

    # ---- whole answers -----------------------------------------------------------------------------------

    def respond(self, response: Response) -> None:
        if self._status:
            return
        body = b"" if self.method == "HEAD" else response.body
        head = self._head(response.status, response.head(self.method))
        if len(body) > 64 * 1024:
            self._connection.write(head)
            self._connection.write(body)
        else:
            self._connection.write(head + body)
        self._finish()

    def _head(self, status: int, headers: HeaderList) -> bytes:
        self._status = status
        if self._server.request_log is not None:
            self._server.request_log.write(self.method, self.path, status, self.headers)
        parts = [_STATUS_LINES.get(status) or b"HTTP/1.1 %d Unknown\r\n" % status]
        parts += [b"%b: %b\r\n" % header for header in headers]
        parts.append(_date.current())
        if not (self.keep_alive and self.complete) or self._server.stopping:
            self.keep_alive = False
            parts.append(b"connection: close\r\n")
        elif self._http_10:
            parts.append(b"connection: keep-alive\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)

    def _finish(self) -> None:
        self._finished = True
        self._receiving = None
        self._body, self._body_size = [], 0
        self._connection.done(self)

    def too_slow(self, error: SandboxAgentError) -> None:
        """The body does not arrive: answer if nothing has been said yet, else break off."""
        if self._task is not None:
            self._task.cancel()
        if self._status:
            self._connection.abort()
        else:
            self.refuse(error)

    # ---- acp_post.Reply ----------------------------------------------------------------------------------

    def answer(self, body: bytes) -> None:
        if self._announced:
            self.write_chunk(body)
            self.end_chunks()
        else:
            self.respond(Response(200, body, [(b"content-type", JSON), *self.extra_headers]))

    def accept(self) -> None:
        self.respond(Response(202, headers=list(self.extra_headers)))

    def refuse(self, error: SandboxAgentError) -> None:
        response = problems.response(error)
        response.headers += self.extra_headers
        self.respond(response)

    def announce(self) -> None:
        self._announced = True
        self.start_chunks(200, [(b"content-type", JSON), *self.extra_headers])

    def blank(self) -> None:
        self.write_chunk(b" ")

    # ---- answers in pieces -------------------------------------------------------------------------------

    def start_chunks(self, status: int, headers: HeaderList) -> None:
        """The head of an answer whose length is not known yet."""
        self._chunked = not self._http_10
        if self._chunked:
            headers = [*headers, (b"transfer-encoding", b"chunked")]
        else:
            self.keep_alive = False
        self._connection.write(self._head(status, headers))

    def write_chunk(self, data: bytes) -> None:
        self._connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end_chunks(self) -> None:
        if self._chunked:
            self._connection.write(b"0\r\n\r\n")
        self._finish()

    def attach_stream(self, stream: Any) -> None:
        """The stream is told when the connection can take more and when it is gone."""
        self._stream = stream

    @property
    def is_stream(self) -> bool:
        return self._stream is not None

    @property
    def can_write(self) -> bool:
        return not self._connection.write_paused and not self._disconnected

    # ---- the connection tells ----------------------------------------------------------------------------

    def writable(self) -> None:
        if self._stream is not None:
            self._stream.pump()
        if self._writable is not None:
            self._writable.set()

    def disconnected(self) -> None:
        self._disconnected = True
        self._receiving = None
        if self._stream is not None:
            self._stream.disconnected()
        if self._arrived is not None:
            self._arrived.set()
        if self._writable is not None:
            self._writable.set()

    # ---- ASGI --------------------------------------------------------------------------------------------

    def run(self, app: App) -> None:
        """Let the ASGI application answer, in a task of its own."""
        self._arrived = asyncio.Event()
        self._receiving = self._arrived.set
        self._arrived.set()
        self._task = asyncio.get_running_loop().create_task(self._run(app))
        self._server.tasks.add(self._task)
        self._task.add_done_callback(self._server.tasks.discard)

    async def _run(self, app: App) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.0" if self._http_10 else "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path.decode("latin-1"),
            "raw_path": self.path,
            "query_string": self.query,
            "root_path": "",
            "headers": self.headers,
        }
        try:
            await app(scope, self._receive, self._send)
        except Exception:
            logger.exception("request.failed", extra={"fields": {"method": self.method}})
        if not self._disconnected and not self._finished:
            if self._status:
                self._connection.abort()  # Cut short: an honest break beats an answer that looks complete.
            else:
                self.refuse(InternalError())

    async def _receive(self) -> Message:
        self.invite_body()
        while True:
            if self._body:
                body = self.take_body()
                self._connection.update_reading()
                return {"type": "http.request", "body": body, "more_body": not self.complete}
            if self._disconnected:
                return {"type": "http.disconnect"}
            if self.complete and self._receiving is not None:
                self._receiving = None
                return {"type": "http.request", "body": b"", "more_body": False}
            if self._arrived is None:  # pragma: no cover - set before the application runs
                return {"type": "http.disconnect"}
            self._arrived.clear()
            await self._arrived.wait()

    async def _send(self, message: Message) -> None:
        if self._disconnected:
            raise ConnectionResetError("the client has left")
        if message["type"] == "http.response.start":
            self._start_asgi(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if body and self.method != "HEAD":
            if self._announced:
                self.write_chunk(body)
            else:
                self._connection.write(body)
        if not more:
            if self._announced and self.method != "HEAD":
                self.end_chunks()
            else:
                self._finish()
        elif not self.can_write:
            self._writable = asyncio.Event()
            await self._writable.wait()
            self._writable = None

    def _start_asgi(self, message: Message) -> None:
        status, headers = message["status"], list(message["headers"])
        sized = status in (204, 304) or any(name == b"content-length" for name, _ in headers)
        if sized or self.method == "HEAD":
            self._connection.write(self._head(status, headers))
        else:
            self._announced = True
            self.start_chunks(status, headers)


class QuickPost:
    """A POST to the ACP transport: collects the body, then hands it to `acp_post.handle`."""

    __slots__ = ("_exchange", "_handle", "_server_id", "_services")

    def __init__(
        self, exchange: Exchange, services: Services, server_id: str, handle: Callable[..., None]
    ) -> None:
        self._exchange = exchange
        self._services = services
        self._server_id = server_id
        self._handle = handle

    def begin(self) -> None:
        exchange = self._exchange
        exchange._quick = self
        length = exchange.header_map.get(b"content-length", b"")
        limit = self._services.settings.max_message_bytes
        if length.isdigit() and int(length) > limit:
            raise PayloadTooLarge(f"the body exceeds {limit} bytes", limit)
        if exchange.complete:
            self._arrived()
        else:
            exchange.invite_body()
            exchange.when_receiving(self._arrived_later)

    def _arrived(self) -> None:
        exchange = self._exchange
        limit = self._services.settings.max_message_bytes
        if exchange.body_size > limit:
            raise PayloadTooLarge(f"the body exceeds {limit} bytes", limit)
        if exchange.complete:
            exchange.when_receiving(None)
            body = exchange.take_body()
            self._handle(self._services, self._server_id, exchange.query, exchange.header_map, body, exchange)

    def _arrived_later(self) -> None:
        try:
            self._arrived()
        except SandboxAgentError as error:
            self._exchange.refuse(error)
        except Exception:
            logger.exception("request.failed", extra={"fields": {"method": "POST"}})
            self._exchange.refuse(InternalError())
