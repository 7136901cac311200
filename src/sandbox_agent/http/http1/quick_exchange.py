"""One request and its answer on a connection of ours.

`Exchange` can be answered with a whole `Response`, with the reply of an ACP POST (`Reply`), or bit by bit by
a `Writer`, who is told how the connection fares: a stream of events, or the ASGI application. It writes
HTTP/1.1 and knows when the answer is complete.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import InternalError, SandboxAgentError
from sandbox_agent.http.access import PLAIN, VARY
from sandbox_agent.http.acp.reply import Reply
from sandbox_agent.http.http1.status_line import REASONS, date
from sandbox_agent.http.messages import JSON, Response

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.bridge.eventlog.frames import Block
    from sandbox_agent.http.http1.connection import Connection
    from sandbox_agent.http.http1.heads import RequestHead
    from sandbox_agent.http.http1.server import HttpServer
    from sandbox_agent.http.messages import HeaderList

    class Writer(Protocol):
        """Who answers bit by bit."""

        def pump(self) -> None:
            """The connection takes more again."""

        def disconnected(self) -> None:
            """The client has left."""


logger = logs.Log("sandbox_agent.http")

_BODY_HIGH_WATER = 1024 * 1024
# Up to this size head and body are put together; beyond, the copy costs more than a list of two.
_JOINED_BYTES = 16 * 1024
_PLAIN_HEADERS: HeaderList = PLAIN.headers
_ORDINARY_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%b: %b\r\n" % VARY
    + b"content-length: %d\r\n%b\r\n"
)
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Exchange(Reply):
    # Defaults live on the class: a request that takes the quick way sets only the few that differ.
    complete = False
    """The whole request has arrived."""
    keep_alive = False
    extra_headers: HeaderList = _PLAIN_HEADERS
    body_size = 0
    _receiving: Callable[[], None] | None = None
    _cancel: Callable[[], object] | None = None
    _invited = False
    collects = False
    """The body is kept whole until it has arrived."""
    _writer: Writer | None = None
    is_stream = False
    """It goes on until somebody ends it; the client need not say anything any more."""
    in_pieces = False
    _chunked = False
    status = 0
    """Of the answer, once it has begun."""
    client_left = False
    finished = False

    def __init__(
        self,
        connection: Connection,
        server: HttpServer,
        head: RequestHead,
        content_length: int | None,
        body: bytes = b"",
    ) -> None:
        """`body` is what of it has come along with the head."""
        self.connection = connection
        self._server = server
        self.head = head
        self.content_length = content_length
        self.keep_alive = head.keep_alive
        self._body = [body] if body else []
        self.body_size = len(body)

    @property
    def method(self) -> str:
        return self.head.method

    # ---- the request arrives -----------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        if self.status and not self.in_pieces:
            return  # Answered already; the rest of the body is of no interest.
        self._body.append(data)
        self.body_size += len(data)
        if self._receiving:
            self._receiving()

    def finish_body(self) -> None:
        self.complete = True
        if self._receiving:
            self._receiving()

    @property
    def is_full(self) -> bool:
        """As much of the body waits here as may; the client has to wait until somebody takes it."""
        return not self.collects and self.body_size > _BODY_HIGH_WATER

    def take_body(self) -> bytes:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._body, self.body_size = [], 0
        return body

    def on_body(
        self,
        callback: Callable[[], None],
        *,
        collect: bool = False,
        cancel: Callable[[], object] | None = None,
    ) -> None:
        """`callback` is called with every piece of the body and at the end, `cancel` if it is too slow.

        `collect` means that it is kept here until it is whole.
        """
        self._receiving, self.collects, self._cancel = callback, collect, cancel

    def reserve(self, left: int) -> memoryview:
        """A place for the rest of a body that is kept whole; counted as arrived once it is `complete`."""
        have = self.body_size
        whole = bytearray(have + left)
        whole[:have] = b"".join(self._body)
        # Bytes in all but name: nobody changes it once it is complete.
        self._body, self.body_size = [whole], have + left  # type: ignore[list-item]
        return memoryview(whole)[have:]

    def invite_body(self) -> None:
        """Tell a client that asked first that its body is welcome."""
        if not self._invited and not self.complete and self.head.expects_continue:
            self._invited = True
            self.connection.write(_CONTINUE)

    # ---- whole answers -----------------------------------------------------------------------------------

    def respond(self, response: Response) -> None:
        if self.status:
            return
        body = b"" if self.method == "HEAD" else response.body
        head = self._head(response.status, response.head(self.method))
        if len(body) > _JOINED_BYTES:
            self.connection.writelines([head, body])
        else:
            self.connection.write(head + body)
        self.finish()

    def _head(self, status: int, headers: HeaderList) -> bytes:
        self.status = status
        if self._server.request_log is not None:
            self._server.request_log.write(self.method, self.head.path, status, self.head.headers)
        parts = [b"HTTP/1.1 %d %b\r\n" % (status, REASONS.get(status, b"Unknown"))]
        parts += [b"%b: %b\r\n" % header for header in headers]
        parts.append(date.current())
        if not (self.keep_alive and self.complete) or self._server.stopping:
            self.keep_alive = False
            parts.append(b"connection: close\r\n")
        elif self.head.http_10:
            parts.append(b"connection: keep-alive\r\n")
        parts.append(b"\r\n")
        return b"".join(parts)

    def finish(self) -> None:
        """All of the answer has been handed on."""
        self.finished = True
        self._receiving = None
        self._body, self.body_size = [], 0
        self.connection.done(self)

    def too_slow(self, error: SandboxAgentError) -> None:
        """The body does not arrive: answer if nothing has been said yet, else break off."""
        if self._cancel is not None:
            self._cancel()
        if self.status:
            self.connection.abort()
        else:
            self.refuse(error)

    # ---- Reply -------------------------------------------------------------------------------------------

    def answer(self, body: bytes) -> None:
        if (
            self.extra_headers is _PLAIN_HEADERS
            and self.keep_alive
            and self.complete
            and not self.status
            and not self.head.http_10
            and not self._server.stopping
            and self._server.request_log is None
        ):
            # Nothing about the head depends on the request, as a rule.
            self.status = 200
            head = _ORDINARY_HEAD % (len(body), date.current())
            if len(body) > _JOINED_BYTES:
                self.connection.writelines([head, body])
            else:
                self.connection.write(head + body)
            self.connection.done(self)
        elif self.in_pieces:
            self.write_chunk(body)
            self.end_chunks()
        else:
            self.respond(Response(200, body, [(b"content-type", JSON), *self.extra_headers]))

    def accept(self) -> None:
        self.respond(Response(202, headers=list(self.extra_headers)))

    def refuse(self, error: SandboxAgentError) -> None:
        from sandbox_agent.http import problems  # when the first request is refused

        response = problems.response(error)
        response.headers += self.extra_headers
        self.respond(response)

    def fail(self, error: Exception) -> None:
        """Say what is wrong with the request, or that something is wrong here."""
        if not isinstance(error, SandboxAgentError):
            logger.exception("request.failed", error, method=self.method)
            error = InternalError()
        self.refuse(error)

    def announce(self) -> None:
        self.in_pieces = True
        self.start_chunks(200, [(b"content-type", JSON), *self.extra_headers])

    def blank(self) -> None:
        self.write_chunk(b" ")

    # ---- answers in pieces -------------------------------------------------------------------------------

    def write_head(self, status: int, headers: HeaderList) -> None:
        """The head of an answer whose body comes bit by bit; the headers say how long it is."""
        self.connection.write(self._head(status, headers))

    def start_chunks(self, status: int, headers: HeaderList) -> None:
        """The head of an answer whose length is not known yet."""
        self._chunked = not self.head.http_10
        if self._chunked:
            headers = [*headers, (b"transfer-encoding", b"chunked")]
        else:
            self.keep_alive = False
        self.write_head(status, headers)

    def write_chunk(self, data: bytes) -> None:
        # Joined, not formatted: formatting copies a long text several times.
        self.connection.write(b"".join((b"%x\r\n" % len(data), data, b"\r\n")) if self._chunked else data)

    def write_block(self, block: Block) -> None:
        """Some events as one chunk."""
        if isinstance(block, bytes) and len(block) <= _JOINED_BYTES and self._chunked:
            self.connection.write(b"%x\r\n%b\r\n" % (len(block), block))
        else:
            self.write_pieces((block,) if isinstance(block, bytes) else block)

    def write_pieces(self, pieces: Sequence[bytes]) -> int:
        """Several pieces as one chunk, without putting them together; returns how long it is."""
        size = sum(map(len, pieces))
        self.connection.writelines([b"%x\r\n" % size, *pieces, b"\r\n"] if self._chunked else list(pieces))
        return size

    def write_stored(self, stored: FileRange) -> None:
        """A range of a file as one chunk; the kernel takes it from there."""
        if self._chunked:
            self.connection.write(b"%x\r\n" % stored.size)
        self.connection.write_stored(stored)
        if self._chunked:
            self.connection.write(b"\r\n")

    def end_chunks(self) -> None:
        if self._chunked:
            self.connection.write(b"0\r\n\r\n")
        self.finish()

    def attach(self, writer: Writer, *, is_stream: bool) -> None:
        """The writer is told when the connection can take more and when it is gone."""
        self._writer = writer
        self.is_stream = is_stream

    @property
    def can_write(self) -> bool:
        return not self.connection.write_paused and not self.client_left

    # ---- the connection tells ----------------------------------------------------------------------------

    def writable(self) -> None:
        if self._writer is not None:
            self._writer.pump()

    def disconnected(self) -> None:
        self.client_left = True
        self._receiving = None
        self.is_stream = False
        if self._writer is not None:
            self._writer.disconnected()
            self._writer = None
