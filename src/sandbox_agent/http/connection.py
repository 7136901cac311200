"""One HTTP/1.1 connection: take requests in, answer them in order, keep to the limits.

Requests for the ACP transport take the quick way: no task, no scope, the same functions that the ASGI
application uses. Everything else is handed to the ASGI application (`asgi_run.py`). A refused request is
answered even while its body is still coming in: the rest is read and thrown away until the client is done.
"""

from __future__ import annotations

from sandbox_agent.bare import deque
from sandbox_agent.errors import RequestTimeout, SandboxAgentError
from sandbox_agent.http import acp_post, acp_stream, plain_head, quick_post
from sandbox_agent.http.exchange import Response
from sandbox_agent.http.heads import HeadAgain, RequestHead
from sandbox_agent.http.meta import HEALTH_PATH, health_response
from sandbox_agent.http.quick_exchange import Exchange
from sandbox_agent.http.routes import decode_segment
from sandbox_agent.http.socket_transport import READ_BYTES, SocketTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

    from sandbox_agent.http.request_parser import RequestParser
    from sandbox_agent.http.server import HttpServer

_ACP_PREFIX = b"/v1/acp/"
# A connection whose request was refused is drained for this long before it is cut.
_LINGER_S = 30.0
_BODY_WINDOW_BYTES = 64 * 1024
_LONG_BODY_BYTES = 64 * 1024
# A body up to this length gets its place at once; a longer one must first arrive to cost memory.
_PLACED_BODY_BYTES = 2 * 1024 * 1024
# Idle since the last look at the clock; exact to a second, which is how often that happens.
_NOT_YET_SEEN = float("inf")
# Stands in for the head of something that could not be understood.
_NO_HEAD = RequestHead("GET", b"/", [], http_10=False, keep_alive=False)


class Connection:
    def __init__(self, server: HttpServer, sock: socket) -> None:
        self._server = server
        self._settings = server.services.settings
        self._parser: RequestParser | None = None
        """Reads what is not ordinary; made when something like that arrives."""
        self._again: HeadAgain | None = None
        """The head of the last message, which the next one probably has too."""
        self._parsing: Exchange | None = None
        """The request whose body is arriving."""
        self._in_message = False
        self._plain_left = 0
        """Bytes of a body that are taken as they come, without the parser."""
        self._waiting: deque[Exchange] = deque()
        self._active: Exchange | None = None
        self._reading_paused = False
        self._lingering = False
        self._since = server.now()
        """When the state that can time out began: idle, head, body window or lingering."""
        self._window_bytes = 0
        self.write_paused = False
        self.closed = False
        self._transport = SocketTransport(server.loop, sock, self)
        # After the end of the connection these do nothing.
        self.write = self._transport.write
        self.writelines = self._transport.writelines
        self.write_stored = self._transport.write_stored
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
        if self._parser is not None:
            self._parser.close()
            self._parser = None

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
        if not self._in_message and self._active is None:
            if self._take_known(data) or self._take_ordinary(data):
                return
        self._window_bytes += len(data)
        if self._parser is None:
            from sandbox_agent.http.request_parser import RequestParser  # many servers never need it

            self._parser = RequestParser(self, self._settings.max_header_bytes)
        broken = self._parser.feed(data, is_only_request=self._active is None and not self._waiting)
        if broken is not None:
            self._refuse_connection(broken)
            return
        self._skip_parser_for_body()
        self.advance()
        self._place_body()
        self.update_reading()

    def _take_known(self, data: bytes) -> bool:
        """Begin a message whose head is that of one before it, which was in order; False if it is not."""
        again = self._again
        if again is None or (found := again.match(data)) is None:
            return False
        known, length, body_at = found
        body = data[body_at:]
        if len(body) > length:
            return False  # The next request has come along.
        if len(body) < length or length > self._server.max_message_bytes:
            if READ_BYTES < length <= _PLACED_BODY_BYTES:
                # The next one is probably as long: its body comes apart from its head then, in one piece.
                self._transport.next_read = body_at
            self._take(again.head, length, body)
            return True
        self._active = exchange = Exchange(self, self._server, again.head, length)
        exchange.complete = True
        exchange.extra_headers = known.headers
        try:
            acp_post.handle(self._server.services, known.server_id, known.terms, body, exchange)
        except Exception as error:
            exchange.fail(error)
        return True

    def _take_ordinary(self, data: bytes) -> bool:
        """Begin a request with an ordinary head and as much of its body as is there; False if it is not."""
        read = plain_head.read(data, self._settings.max_header_bytes)
        if read is None:
            return False
        head, length = read, read.content_length or 0
        body_at = data.find(b"\r\n\r\n") + 4
        self._remember(data[:body_at], head)
        body = data[body_at:]
        if len(body) > length:
            return False  # As above.
        self._take(head, length, body)
        return True

    def _take(self, head: RequestHead, length: int, body: bytes) -> None:
        """Begin a request with what there is of its body."""
        self._active = exchange = Exchange(self, self._server, head, length, body)
        if len(body) < length:
            self._plain_left = length - len(body)
            self._in_message = True
            self._parsing = exchange
            self._window_bytes, self._since = 0, self._server.now()
            self._begin(exchange)
            self._place_body()
        else:
            exchange.complete = True
            self._begin(exchange)

    def _remember(self, block: bytes, head: RequestHead) -> None:
        """Know the head of a message again. Of others somebody may want to see all headers as they came."""
        is_message = head.method == "POST" and head.path.startswith(_ACP_PREFIX)
        if is_message and head.content_length is not None and self._server.request_log is None:
            self._again = HeadAgain(block, head)

    def _skip_parser_for_body(self) -> None:
        """A long body of known length needs no parser, which would copy it once more."""
        exchange = self._parsing
        if exchange is None or not self._waiting or self._waiting[-1] is not exchange:
            return
        length = exchange.content_length
        if length is None or length - exchange.body_size < _LONG_BODY_BYTES:
            return
        self._plain_left = length - exchange.body_size
        self._parser = None

    def _place_body(self) -> None:
        """A body that is kept whole is received in one piece, or the rest of it straight into its place."""
        left, exchange = self._plain_left, self._parsing
        if not left or exchange is None or not exchange.collects or left > _PLACED_BODY_BYTES:
            return
        if not exchange.body_size and (data := self._transport.read_now(left)):
            self._take_plain(data)
            left = self._plain_left
        if left:
            self._transport.fill(exchange.reserve(left))

    def filled(self, count: int) -> None:
        if self._lingering or self.closed:
            return
        self._plain_left -= count
        self._window_bytes += count
        if self._plain_left == 0:
            self.message_ended()
            self.advance()
        self.update_reading()

    def _take_plain(self, data: bytes) -> None:
        """A piece of a body whose length is known."""
        part = data if len(data) <= self._plain_left else data[: self._plain_left]
        self._plain_left -= len(part)
        self._window_bytes += len(part)
        self.body_arrived(part)
        if self._plain_left == 0:
            self.message_ended()
            if len(part) < len(data):
                self.data_received(data[len(part) :])
                return
            self.advance()
        self.update_reading()

    # ---- request_parser.Owner ----------------------------------------------------------------------------

    def message_began(self) -> None:
        self._in_message = True
        if self._active is None:
            self._since = self._server.now()

    def head_arrived(self, head: RequestHead) -> None:
        self._parsing = Exchange(self, self._server, head, head.content_length)
        self._window_bytes = 0
        if self._active is None:
            self._since = self._server.now()
        self._waiting.append(self._parsing)

    def body_arrived(self, data: bytes) -> None:
        if self._parsing is not None:
            self._parsing.feed(data)

    def message_ended(self) -> None:
        self._in_message = False
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
        services = self._server.services
        try:
            if head.fault is not None:
                raise head.fault
            if head.known is not None:
                exchange.extra_headers = head.known.headers
                quick_post.begin(exchange, services, head.known.server_id)
                return
            verdict = services.guard.check(head.method, head.path, head.header_map)
            if isinstance(verdict, Response):
                exchange.respond(verdict)
                return
            exchange.extra_headers = verdict.headers
            self._dispatch(exchange, head)
        except Exception as error:
            exchange.fail(error)

    def _dispatch(self, exchange: Exchange, head: RequestHead) -> None:
        segment = head.path[len(_ACP_PREFIX) :]
        if not head.path.startswith(_ACP_PREFIX) or not segment or b"/" in segment:
            self._run(exchange, head)
            return
        server_id = decode_segment(segment)
        services = self._server.services
        if head.method == "POST":
            quick_post.begin(exchange, services, server_id)
        elif head.method == "GET" and exchange.complete:
            from sandbox_agent.http.quick_stream import QuickStream  # with the first reader

            log, last_event_id = acp_stream.open_log(services, server_id, head.header_map)
            QuickStream(exchange, services, log, last_event_id)
        else:
            self._run(exchange, head)

    def _run(self, exchange: Exchange, head: RequestHead) -> None:
        """Let the ASGI application answer; only the question that probes ask all the time is quicker."""
        if head.path == HEALTH_PATH and head.method == "GET" and exchange.complete:
            response = health_response()
            response.headers += exchange.extra_headers
            exchange.respond(response)
        else:
            self._server.loop.when_asyncio(lambda: self._run_app(exchange))

    def _run_app(self, exchange: Exchange) -> None:
        from sandbox_agent.http.asgi_run import AsgiRun  # asyncio is here by now

        AsgiRun(exchange, self._server.app, self._server.tasks)

    def done(self, exchange: Exchange) -> None:
        """The answer has been written."""
        self._active = None
        self._since = _NOT_YET_SEEN
        if self.closed:
            return
        if not exchange.complete:
            self._linger()
        elif not exchange.keep_alive or self._server.stopping:
            self._transport.close()
        elif self._waiting:
            self._server.loop.call_soon(self.advance)
        elif not self._reading_paused:
            return
        self.update_reading()

    # ---- writing and flow --------------------------------------------------------------------------------

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
        exchange = self._parsing or Exchange(self, self._server, _NO_HEAD, None)
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
        if self._since == _NOT_YET_SEEN:
            self._since = now
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
