"""One HTTP/1.1 connection: parse requests with httptools, answer them in order, keep to the limits.

Requests for the ACP transport take the quick way: no task, no scope, the same functions that the ASGI
application uses. Everything else is handed to the ASGI application by `Exchange.run`. A refused request is
answered even while its body is still coming in: the rest is read and thrown away until the client is done.
"""

from __future__ import annotations

import logging
import re
import socket
from collections import deque
from typing import TYPE_CHECKING

import httptools

from sandbox_agent.errors import (
    HeadersTooLarge,
    InternalError,
    InvalidRequest,
    RequestTimeout,
    SandboxAgentError,
)
from sandbox_agent.http import acp_stream, quick_post
from sandbox_agent.http.exchange import HeaderList, Response
from sandbox_agent.http.heads import RequestHead
from sandbox_agent.http.quick_exchange import Exchange
from sandbox_agent.http.quick_stream import QuickStream
from sandbox_agent.http.routes import decode_segment
from sandbox_agent.http.socket_transport import SocketTransport

if TYPE_CHECKING:
    from sandbox_agent.bridge.stored import Stored
    from sandbox_agent.http.server import HttpServer

logger = logging.getLogger("sandbox_agent.http")

_ACP_PREFIX = b"/v1/acp/"
# A connection whose request was refused is drained for this long before it is cut.
_LINGER_S = 30.0
_BODY_WINDOW_BYTES = 64 * 1024
_LONG_BODY_BYTES = 64 * 1024
# A body up to this length gets its place at once; a longer one must first arrive to cost memory.
_PLACED_BODY_BYTES = 2 * 1024 * 1024
_MADE_UP_METHOD = re.compile(rb"([A-Z][A-Z-]{0,31}) /[!-~]* HTTP/1\.1\r\n")
_STAND_IN_METHOD = b"TRACE"
# Stands in for the head of something that could not be understood.
_NO_HEAD = RequestHead("GET", b"/", [], http_10=False, keep_alive=False)


class Connection:
    def __init__(self, server: HttpServer, sock: socket.socket) -> None:
        self._server = server
        self._settings = server.services.settings
        self._parser = httptools.HttpRequestParser(self)
        self._parsing: Exchange | None = None
        """The request whose body is arriving."""
        self._target = b""
        self._headers: HeaderList = []
        self._in_message = False
        self._head_complete = False
        self._head_bytes = 0
        self._messages = 0
        self._made_up_method: bytes | None = None
        """The method of a request that ends the connection, because the parser does not know it."""
        self._plain_left = 0
        """Bytes of a body that are taken as they come, without the parser."""
        self._waiting: deque[Exchange] = deque()
        self._active: Exchange | None = None
        self._reading_paused = False
        self._lingering = False
        self._broken: SandboxAgentError | None = None
        self._since = server.now()
        """When the state that can time out began: idle, head, body window or lingering."""
        self._window_bytes = 0
        self.write_paused = False
        self.closed = False
        self._transport = SocketTransport(server.loop, sock, self)
        server.connections.add(self)

    # ---- socket_transport.Receiver -----------------------------------------------------------------------

    def connection_lost(self) -> None:
        self.closed = True
        self._server.forget(self)
        for exchange in (self._active, *self._waiting):
            if exchange is not None:
                exchange.disconnected()
        self._active = None
        self._waiting.clear()
        # The parser holds bound methods of ours; without this every connection is a cycle for the collector.
        self._parser = None  # type: ignore[assignment]

    def eof_received(self) -> bool:
        idle = self._active is None and not self._waiting
        if self._lingering or idle or (self._active is not None and self._active.is_stream):
            return False
        # Half-closed by a client that still reads: its request is answered, then the connection ends.
        for exchange in (self._active, *self._waiting):
            if exchange is not None:
                exchange.keep_alive = False
                if not exchange.complete:
                    self._transport.abort()
                    return False
        return True

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._active is not None:
            self._active.writable()

    def data_received(self, data: bytes) -> None:
        if self._lingering or self.closed:
            return
        if self._plain_left:
            self._take_plain(data)
            return
        at_boundary = self._in_message is False and self._active is None
        if at_boundary and (known := self._server.known_heads.find(data)) is not None:
            self._take_known(*known)
            return
        if not self._head_complete:
            self._head_bytes += len(data)
        self._window_bytes += len(data)
        before = self._messages
        self._feed(data)
        if self._broken is not None:
            self._refuse_connection(self._broken)
            return
        if at_boundary and len(self._waiting) == 1 and self._messages - before <= 1:
            self._server.known_heads.remember(data, self._waiting[0].head)
        self._skip_parser_for_body()
        self.advance()
        self._place_body()
        self.update_reading()

    def _take_known(self, head: RequestHead, body: bytes) -> None:
        """A request whose head has been parsed before, and as much of its body as is there."""
        exchange = Exchange(self, self._server, head)
        exchange.feed(body)
        self._plain_left = (head.content_length or 0) - len(body)
        if self._plain_left:
            self._in_message = self._head_complete = True
            self._parsing = exchange
            self._window_bytes, self._since = 0, self._server.now()
        else:
            exchange.complete = True
        self._active = exchange
        self._begin(exchange)
        self._place_body()

    def _skip_parser_for_body(self) -> None:
        """A long body of known length needs no parser, which would copy it once more."""
        exchange = self._parsing
        if exchange is None or not self._waiting or self._waiting[-1] is not exchange:
            return
        length = exchange.head.content_length
        if length is None or length - exchange.body_size < _LONG_BODY_BYTES:
            return
        self._plain_left = length - exchange.body_size
        self._parser = httptools.HttpRequestParser(self)

    def _place_body(self) -> None:
        """The rest of a body that is kept whole is received straight into its place."""
        left = self._plain_left
        if left and self._parsing is not None and self._parsing.collects and left <= _PLACED_BODY_BYTES:
            self._transport.fill(self._parsing.reserve(left))

    def filled(self, count: int) -> None:
        if self._lingering or self.closed:
            return
        self._plain_left -= count
        self._window_bytes += count
        if self._plain_left == 0:
            self.on_message_complete()
            self.advance()
        self.update_reading()

    def _take_plain(self, data: bytes) -> None:
        """A piece of a body whose length is known."""
        part = data if len(data) <= self._plain_left else data[: self._plain_left]
        self._plain_left -= len(part)
        self._window_bytes += len(part)
        self.on_body(part)
        if self._plain_left == 0:
            self.on_message_complete()
            if len(part) < len(data):
                self.data_received(data[len(part) :])
                return
            self.advance()
        self.update_reading()

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # We speak HTTP/1.1 only and say so by ignoring the wish.
            self._parser = httptools.HttpRequestParser(self)
            rest = data[upgrade.args[0] :]
            if rest:
                self._feed(rest)
            return
        except httptools.HttpParserInvalidMethodError as error:
            if self._made_up_method:
                return
            request = _MADE_UP_METHOD.match(data)
            if request is None or self._waiting or self._active is not None:
                self._broken = self._broken or InvalidRequest(f"not HTTP/1.1: {error}")
                return
            # The parser knows the registered methods only; any other is a 405 too, and the last request here.
            self._made_up_method = request[1]
            self._parser = httptools.HttpRequestParser(self)
            self._feed(_STAND_IN_METHOD + data[request.end(1) :])
            return
        except httptools.HttpParserError as error:
            if self._broken is None:
                self._broken = InvalidRequest(f"not HTTP/1.1: {error}")
            return
        if self._in_message and not self._head_complete:
            self._check_head()

    def _check_head(self) -> None:
        if self._head_bytes > self._settings.max_header_bytes:
            self._broken = HeadersTooLarge(self._settings.max_header_bytes)

    # ---- httptools ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_message, self._head_complete = True, False
        self._target, self._headers = b"", []
        if self._active is None:
            self._since = self._server.now()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_complete = True
        self._head_bytes = 0
        size = len(self._target) + sum(len(name) + len(value) + 4 for name, value in self._headers)
        if size > self._settings.max_header_bytes:
            self._broken = HeadersTooLarge(self._settings.max_header_bytes)
            return
        parser = self._parser
        head = RequestHead(
            (self._made_up_method or parser.get_method()).decode("ascii"),
            self._target,
            self._headers,
            http_10=parser.get_http_version() == "1.0",
            keep_alive=parser.should_keep_alive() and self._made_up_method is None,
        )
        self._parsing = Exchange(self, self._server, head)
        self._window_bytes = 0
        if self._active is None:
            self._since = self._server.now()
        self._waiting.append(self._parsing)

    def on_body(self, body: bytes) -> None:
        if self._parsing is not None:
            self._parsing.feed(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        self._head_complete = False
        self._messages += 1
        if self._parsing is not None:
            self._parsing.finish_body()
            self._parsing = None

    # ---- one request after the other ---------------------------------------------------------------------

    def advance(self) -> None:
        """Begin the next request, if none is being answered."""
        while self._active is None and self._waiting and not self.closed and not self._lingering:
            self._active = self._waiting.popleft()
            self._begin(self._active)

    def _begin(self, exchange: Exchange) -> None:
        head = exchange.head
        try:
            if head.fault is not None:
                raise head.fault
            passed = head.passed
            if passed is None:
                verdict = self._server.services.guard.check(head.method, head.path, head.header_map)
                if isinstance(verdict, Response):
                    exchange.respond(verdict)
                    return
                head.passed = passed = verdict
            exchange.extra_headers = passed.headers
            self._dispatch(exchange, head)
        except SandboxAgentError as error:
            exchange.refuse(error)
        except Exception:
            logger.exception("request.failed", extra={"fields": {"method": head.method}})
            exchange.refuse(InternalError())

    def _dispatch(self, exchange: Exchange, head: RequestHead) -> None:
        server_id = head.server_id
        if server_id is None:
            segment = head.path[len(_ACP_PREFIX) :]
            if not head.path.startswith(_ACP_PREFIX) or not segment or b"/" in segment:
                exchange.run(self._server.app)
                return
            server_id = head.server_id = decode_segment(segment)
        services = self._server.services
        if head.method == "POST":
            quick_post.begin(exchange, services, server_id)
        elif head.method == "GET" and exchange.complete:
            log, last_event_id = acp_stream.open_log(services, server_id, head.header_map)
            QuickStream(exchange, services, log, last_event_id)
        else:
            exchange.run(self._server.app)

    def done(self, exchange: Exchange) -> None:
        """The answer has been written."""
        self._active = None
        self._since = self._server.now()
        if self.closed:
            return
        if not exchange.complete:
            self._linger()
        elif not exchange.keep_alive or self._server.stopping:
            self._transport.close()
        elif self._waiting:
            self._server.loop.call_soon(self.advance)
        self.update_reading()

    # ---- writing and flow --------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self.closed:
            self._transport.write(data)

    def writelines(self, pieces: list[bytes]) -> None:
        if not self.closed:
            self._transport.writelines(pieces)

    def write_stored(self, stored: Stored) -> None:
        if not self.closed:
            self._transport.write_stored(stored)

    def abort(self) -> None:
        """Break the connection: the answer cannot be completed."""
        self._transport.abort()

    def close_if_idle(self) -> None:
        if self._active is None and not self._waiting:
            self._transport.close()

    def update_reading(self) -> None:
        """Read on, or let the client wait, as the room for what it sends demands."""
        if self.closed or self._transport.is_closing:
            return
        full = not self._lingering and (
            len(self._waiting) > 0 or (self._active is not None and self._active.is_full)
        )
        if full != self._reading_paused:
            self._reading_paused = full
            (self._transport.pause_reading if full else self._transport.resume_reading)()

    def _refuse_connection(self, error: SandboxAgentError) -> None:
        """What comes in is no request we could go on after: say so and end."""
        if self._active is not None:
            # Answers of earlier requests come first; this one will never be understood.
            self._active.keep_alive = False
            return
        exchange = self._parsing or Exchange(self, self._server, _NO_HEAD)
        exchange.complete = False
        self._waiting.clear()
        self._active = exchange
        exchange.refuse(error)

    def _linger(self) -> None:
        self._lingering = True
        self._since = self._server.now()
        self.update_reading()
        self._transport.write_eof()

    def check_time(self, now: float) -> None:
        """Called about once a second: end what takes too long."""
        elapsed = now - self._since
        if self._lingering:
            if elapsed > _LINGER_S:
                self._transport.abort()
        elif self._active is not None:
            self._check_body_pace(self._active, now)
        elif self._in_message:
            if elapsed > self._settings.request_timeout_ms / 1000:
                self._refuse_connection(RequestTimeout("the headers did not arrive in time"))
        elif elapsed > self._settings.keep_alive_ms / 1000:
            self._transport.close()

    def _check_body_pace(self, active: Exchange, now: float) -> None:
        """A body must bring 64 KiB, or its end, in every period."""
        if active.complete or active.is_full or now - self._since <= self._settings.request_timeout_ms / 1000:
            return
        if self._window_bytes >= _BODY_WINDOW_BYTES:
            self._window_bytes = 0
            self._since = now
        else:
            active.too_slow(RequestTimeout("the body did not arrive in time"))
