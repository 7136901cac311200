"""One request and its response on a connection.

A handler gets the exchange when the head has arrived. It may ask for the body (`collect_body`, `on_body`) and
answers now or later: with `respond`, or with `start`, `write` and `end`. The exchange writes
HTTP/1.1; every response ends in `end`.

What a handler has registered is called in `run_guarded`, so that an exception in it ends in an answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import SandboxAgentError, unexpected
from sandbox_agent.http.body_limit import check_body_size
from sandbox_agent.http.http1 import response_head
from sandbox_agent.http.messages import Response
from sandbox_agent.http.sinks.step_guard import run_guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.http.http1.connection import Connection
    from sandbox_agent.http.http1.incoming_request import IncomingRequest
    from sandbox_agent.http.http1.server import Http1Server
    from sandbox_agent.http.http1.sockets.socket_transport import SocketTransport
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.sinks.response_sink import ResponseWriter

    Handler: TypeAlias = Callable[["Exchange"], None]

logger = logs.Log("sandbox_agent.http")

# More of a body than this waits in the socket until the handler has taken some.
_BODY_HIGH_WATER = 1024 * 1024
# Up to this size head and body are joined; beyond, the copy costs more than a system call with two pieces.
_JOINED_BYTES = 16 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Sent when not even a problem document can be made, for want of memory or descriptors for example.
_LAST_RESORT = (
    b'{"type":"urn:sandbox-agent:error:internal_error","title":"Internal Error","status":500,'
    b'"detail":"internal error"}'
)


class Exchange:
    """Implements `ResponseSink`."""

    __slots__ = (
        "_cancel",
        "_chunked",
        "_has_body",
        "_invited",
        "_on_body",
        "_probed",
        "_writer",
        "client_left",
        "collects_body",
        "connection",
        "ended",
        "head",
        "is_endless",
        "keep_alive",
        "problem_headers",
        "request",
        "status",
        "without_token",
    )

    def __init__(self, connection: Connection, request: IncomingRequest) -> None:
        self.connection = connection
        self.request = request
        self.head = request.head
        self.keep_alive = request.head.keep_alive
        self.problem_headers: Sequence[tuple[bytes, bytes]] = connection.options.problem_headers
        """Sent with the problem document of `fail`."""
        self.status = 0
        """Of the response, once it has begun."""
        self.ended = False
        self.client_left = False
        self.collects_body = False
        """The body is kept until it is complete."""
        self.is_endless = False
        """The response goes on until the client closes its side of the connection."""
        self.without_token = False
        """The request has no token, or a ticket instead."""
        self._on_body: Callable[[], None] | None = None
        self._cancel: Callable[[], object] | None = None
        self._writer: ResponseWriter | None = None
        self._invited = False
        self._probed = False
        self._has_body = True
        self._chunked = False

    # ---- the body of the request -------------------------------------------------------------------------

    def collect_body(self, limit: int, callback: Callable[[Exchange, bytes], None]) -> None:
        """Call `callback` with this exchange and the whole body, now or when it has arrived.

        Raises PayloadTooLarge, or fails with it, as soon as the body is known to exceed `limit` bytes.
        """
        request = self.request
        check_body_size(request.size, limit)
        if request.complete:
            callback(self, request.take_body())
        else:
            check_body_size(request.content_length or 0, limit)
            self.collects_body = True
            self.on_body(partial(self.collect_body, limit, callback))
            self.invite_body()

    def on_body(self, callback: Callable[[], None], cancel: Callable[[], object] | None = None) -> None:
        """Call `callback` with every piece of the body and at its end, `cancel` if it does not arrive."""
        self._on_body, self._cancel = callback, cancel

    def invite_body(self) -> None:
        """Send `100 Continue` to a client that waits for it."""
        if not self._invited and not self.request.complete and self.head.expects_continue:
            self._invited = True
            self.connection.write(_CONTINUE)

    @property
    def is_full(self) -> bool:
        """The client has to wait until the handler takes what has arrived of the body."""
        return not self.collects_body and self.request.size > _BODY_HIGH_WATER

    def take_body(self) -> bytes:
        """What of the body has arrived since the last call."""
        body = self.request.take_body()
        self.connection.update_reading()
        return body

    def body_arrived(self) -> None:
        """More of the body is in `request`, or its end."""
        if self._on_body is not None:
            run_guarded(self, self._on_body)

    def probe_client(self) -> None:
        """Find out whether a client that sends no more still waits for its response.

        A client that has closed its socket looks the same, until its machine answers a byte with a reset. An
        interim response changes nothing for a client that waits; one is enough.
        """
        if not self._probed and not self.status and not self.head.http_10:
            self._probed = True
            self.connection.write(_CONTINUE)

    # ---- the response ------------------------------------------------------------------------------------

    def respond(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        if self.status:
            return
        try:
            encoded, is_sized = response_head.encode(status, tuple(headers))
        except response_head.InvalidHeader as error:
            # Without the headers of the handler, which may be the invalid ones.
            self.problem_headers = self.connection.options.problem_headers
            self.fail(error)
            return
        framing = b"" if is_sized else b"content-length: %d\r\n" % len(body)
        if self.head.method == "HEAD":
            body = b""
        if len(body) > _JOINED_BYTES:
            self.connection.write_pieces([self._head(status, encoded, framing), body])
        else:
            self.connection.write(self._head(status, encoded, framing, body))
        self._end()

    def start(self, status: int, headers: HeaderList) -> None:
        """Begin a response whose body follows. Raises InvalidHeader."""
        if self.status:
            return
        encoded, is_sized = response_head.encode(status, tuple(headers))
        self._has_body = self.head.method != "HEAD"
        framing = b""
        if self._has_body and not is_sized:
            if self.head.http_10:
                self.keep_alive = False  # The end of the connection is the end of the body.
            else:
                self._chunked, framing = True, b"transfer-encoding: chunked\r\n"
        self.connection.write(self._head(status, encoded, framing))

    def _head(self, status: int, encoded: bytes, framing: bytes, body: bytes = b"") -> bytes:
        """The head of a response, with a short body."""
        self.status = status
        server = self.connection.server
        if server.options.on_response is not None:
            server.options.on_response(self.head, status)
        persistence = b""
        if not (self.keep_alive and self.request.complete) or server.stopping:
            self.keep_alive = False
            persistence = b"connection: close\r\n"
        elif self.head.http_10:
            persistence = b"connection: keep-alive\r\n"
        return b"%b%b%b%b\r\n%b" % (encoded, framing, response_head.date_line(), persistence, body)

    def write(self, data: bytes) -> None:
        if len(data) > _JOINED_BYTES:
            self.write_pieces((data,))
        elif self._has_body and data and not self.ended:
            self.connection.write(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Several pieces as one chunk, without joining long ones."""
        size = sum(map(len, pieces))
        if size <= _JOINED_BYTES:
            self.write(b"".join(pieces))
        elif self._has_body and not self.ended:
            if self._chunked:
                pieces = (b"%x\r\n" % size, *pieces, b"\r\n")
            self.connection.write_pieces(pieces)

    def write_file(self, file_range: FileRange) -> None:
        """A range of a file as one chunk; the kernel copies it (`sendfile`)."""
        if not self._has_body or self.ended:
            return
        if self._chunked:
            self.connection.write(b"%x\r\n" % file_range.size)
        self.connection.write_file(file_range)
        if self._chunked:
            self.connection.write(b"\r\n")

    def end(self) -> None:
        if self.ended:
            return
        if self._chunked:
            self.connection.write(b"0\r\n\r\n")
        self._end()

    def upgrade(self) -> tuple[Http1Server, SocketTransport, bytes]:
        """Go on with another protocol, which sends the 101 itself (see `Connection.upgrade`)."""
        self.status, self.ended = 101, True
        self._on_body = self._writer = None
        if (on_response := self.connection.options.on_response) is not None:
            on_response(self.head, 101)
        return self.connection.upgrade()

    def fail(self, error: Exception) -> None:
        if isinstance(error, SandboxAgentError):
            failure = error
        else:
            logger.exception("request.failed", error, method=self.head.method)
            failure = unexpected(error)
        if not self.ended and not self.client_left:
            self._fail(failure)
        # Frames of the traceback may refer to the error: without this, both and the request would stay in
        # memory until the garbage collector runs.
        error.__traceback__ = None

    def _fail(self, error: SandboxAgentError) -> None:
        if self.status:
            self.connection.abort()  # A cut response must not look complete.
        else:
            problem = self._problem(error)
            self.respond(problem.status, [*problem.headers, *self.problem_headers], problem.body)

    def _problem(self, error: SandboxAgentError) -> Response:
        try:
            from sandbox_agent.http import problems  # with the first problem: it loads msgspec

            return problems.response(error)
        except Exception as fault:
            if self.connection.release_descriptors(fault):
                return self._problem(error)
            logger.exception("problem.failed", fault, kind=error.kind)
            return Response(500, _LAST_RESORT, content_type=b"application/problem+json")

    def cancel(self, error: SandboxAgentError) -> None:
        """Fail because the body does not arrive; the handler is stopped first."""
        if self._cancel is not None:
            run_guarded(self, self._cancel)
        self.fail(error)

    def _end(self) -> None:
        self.ended = True
        self._on_body = self._writer = None
        request = self.request
        if request.size or not request.complete:
            request.discard_body()
        self.connection.exchange_ended(self)

    # ---- flow control ------------------------------------------------------------------------------------

    def attach(self, writer: ResponseWriter, *, is_endless: bool = False) -> None:
        self._writer, self.is_endless = writer, is_endless

    def watch_for_leaving(self) -> None:
        """From now on a client that closes its side of the connection has left."""
        if not self.is_endless:
            self.is_endless = True
            self.connection.leave_if_finished()

    @property
    def can_write(self) -> bool:
        return not self.connection.write_paused and not self.client_left

    def writable(self) -> None:
        """The connection can take more again."""
        if self._writer is not None:
            run_guarded(self, self._writer.resume)

    def disconnected(self) -> None:
        """The connection is gone."""
        self.client_left = True
        self._on_body = None
        writer, self._writer = self._writer, None
        if writer is not None:
            run_guarded(self, writer.disconnected)
