"""Bytes of one connection in, requests out; knows no socket.

httptools reads every head that is not equal to the last one (`cached_head`) and every body whose head it has
read. It knows the registered methods only: a request with another one is read as if it had a known method,
and is the last on its connection, so that the application can refuse it by name (405). What httptools accepts
and this server does not support makes the connection unreadable from there on: versions other than 1.0 and
1.1, and CONNECT, after which anything but HTTP may follow.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import HeadersTooLarge, InternalError, InvalidRequest, SandboxAgentError
from sandbox_agent.http.http1.cached_head import END_OF_HEAD, CachedHead
from sandbox_agent.http.http1.incoming_request import IncomingRequest
from sandbox_agent.http.http1.request_head import RequestHead

if TYPE_CHECKING:
    import httptools

    from sandbox_agent.http.messages import HeaderList

logger = logs.Log("sandbox_agent.http")

# A header costs up to 30 times its bytes in memory; clients send about ten.
_MAX_HEADERS = 200
_VERSIONS = ("1.1", "1.0")
_KNOWN_METHOD = b"TRACE"
_METHOD_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-"
_MAX_METHOD_BYTES = 32
_PART_BYTES = 1024
# Requests that fit in one part, and the parts that a chunked body may begin and end in.
_MAX_WAITING = 128


class RequestReader:
    def __init__(self, max_header_bytes: int, *, caches_heads: bool = True) -> None:
        self._max_header_bytes = max_header_bytes
        self._caches_heads = caches_heads
        self.requests: deque[IncomingRequest] = deque()
        """Requests whose head is complete, in order; the last one may still be arriving."""
        self.unread = b""
        """What has arrived after `requests` and is not parsed yet."""
        self.error: SandboxAgentError | None = None
        """Why nothing after `requests` can be read."""
        self._arriving: IncomingRequest | None = None
        """The request whose body is arriving."""
        self._body_left = 0
        """Bytes of its body that httptools does not see, because it did not see the head."""
        self._cached: CachedHead | None = None
        self.candidate: tuple[bytes, RequestHead] | None = None
        """The last head and its bytes, until `cache_candidate`."""
        self._parser: httptools.HttpRequestParser | None = None
        self._in_message = False
        self._head_bytes = 0
        """Bytes fed since the last complete head or piece of a body: an upper bound of the head, the chunk
        extension or the trailers that are arriving."""
        self._target = b""
        self._headers: HeaderList = []
        self._unknown_method: bytes | None = None

    @property
    def in_head(self) -> bool:
        """A part of a head has arrived."""
        return self._in_message and self._arriving is None

    def close(self) -> None:
        """Drop the parser, which refers back to this object, and what has been read."""
        self._parser = self._cached = self.candidate = self._arriving = None
        self._headers = []
        self.unread = b""
        self.requests.clear()

    def feed(self, data: bytes) -> None:
        """Read on; results are in `requests` and `error`."""
        if self.unread:
            self.unread += data
            return
        starts_request = not self._in_message and not self._body_left
        if self._body_left:
            data = self._feed_body(data)
            if not data:
                return
        if self.error is not None:
            return
        cached = self._cached
        if cached is None or self._in_message or (request := cached.read(data)) is None:
            self._feed_parser(data, starts_request=starts_request)
            return
        self.requests.append(request)
        if request.size == request.content_length:
            request.complete = True
        else:
            self._arriving, self._body_left = request, (request.content_length or 0) - request.size

    def _feed_body(self, data: bytes) -> bytes:
        """Take the bytes of the body that is arriving; returns what follows it."""
        request = self._arriving
        left = self._body_left
        part = data if len(data) <= left else data[:left]
        self._body_left -= len(part)
        if request is not None:
            request.feed(part)
            if not self._body_left:
                request.complete = True
                self._arriving = None
        return data[left:]

    # ---- everything else ---------------------------------------------------------------------------------

    def _feed_parser(self, data: bytes, *, starts_request: bool) -> None:
        """Parse in parts, up to one after which a complete request waits.

        Parsed, the shortest request needs a hundred times its bytes, so no more of them are parsed ahead than
        fit in one part.
        """
        read_before = len(self.requests)
        at = 0
        while at < len(data) and self.error is None:
            if self._arriving is None and self.requests and at:
                self.unread += data[at:]
                break
            part = data[at : at + self._part_size()] if at or len(data) > _PART_BYTES else data
            self._feed_part(part, starts_request=starts_request and not at)
            at += len(part)
            if len(self.requests) > _MAX_WAITING:
                self._break(InvalidRequest("too many requests before the end of one"))
        if starts_request and len(self.requests) > read_before and self.error is None:
            self._propose(data, self.requests[read_before].head)

    def _part_size(self) -> int:
        """The rest of a body of known length, which is cheap, or a little."""
        arriving = self._arriving
        if arriving is None or arriving.content_length is None:
            return _PART_BYTES
        return max(1, arriving.content_length - arriving.received)

    def _feed_part(self, part: bytes, *, starts_request: bool) -> None:
        self._head_bytes += len(part)
        self._parse(part, may_have_unknown_method=starts_request)
        if self._head_bytes > self._max_header_bytes and self._in_message:
            self._break(HeadersTooLarge(self._max_header_bytes))

    def read_on(self) -> None:
        """Parse what `feed` has left; called when no request waits."""
        data, self.unread = self.unread, b""
        self.feed(data)

    def _propose(self, data: bytes, head: RequestHead) -> None:
        """Keep the head that `data` begins with, if it may come again with a body of another length."""
        end = data.find(END_OF_HEAD)
        if self._caches_heads and head.content_length is not None and end >= 0:
            self.candidate = (data[: end + len(END_OF_HEAD)], head)

    def cache_candidate(self) -> None:
        """Cache the last head if its request was admitted; called when the request has been answered.

        A refused head is not kept: a connection that was refused holds no memory.
        """
        if self.candidate is not None and self.candidate[1].handler is not None:
            self._cached = CachedHead.of(*self.candidate)
        self.candidate = None

    def _parse(self, data: bytes, *, may_have_unknown_method: bool) -> None:
        import httptools  # loaded with the first request

        read_before = len(self.requests)
        rest: bytes | memoryview = data
        while rest and self.error is None:
            if self._parser is None:
                self._parser = httptools.HttpRequestParser(self)
            try:
                self._parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as upgrade:
                self._parser = None
                rest = memoryview(rest)[upgrade.args[0] :]
                if self.requests and self.requests[-1].head.wants_websocket:
                    self.unread = bytes(rest)  # The handler decides whether these are frames or a request.
                    return
                # No other upgrade is offered: the header is ignored and the next request may follow.
            except httptools.HttpParserInvalidMethodError as error:
                if self._unknown_method is not None:
                    return  # Nothing is answered after a request with an unknown method.
                method = _unknown_method(data)
                if method is None or not may_have_unknown_method or len(self.requests) > read_before:
                    self._break(InvalidRequest(f"not HTTP/1.1: {error}"))
                    return
                self._unknown_method = method
                self._parser = None
                rest = _KNOWN_METHOD + data[len(method) :]
            except httptools.HttpParserCallbackError as error:
                logger.exception("request.failed", error.__context__ or error)
                self._break(InternalError())
            except httptools.HttpParserError as error:
                self._break(InvalidRequest(f"not HTTP/1.1: {error}"))
                return

    def _break(self, error: SandboxAgentError) -> None:
        self.error = self.error or error

    # ---- callbacks of httptools --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_message = True
        self._target, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._arriving is not None:
            return  # A trailer: no handler asks for one, and among the headers it could replace one.
        if len(self._headers) < _MAX_HEADERS:
            self._headers.append((name.lower(), value))
        else:
            self._break(HeadersTooLarge(_MAX_HEADERS, "headers"))

    def on_headers_complete(self) -> None:
        parser = self._parser
        self._head_bytes = 0
        size = len(self._target) + sum(len(name) + len(value) + 4 for name, value in self._headers)
        if size > self._max_header_bytes:
            self._break(HeadersTooLarge(self._max_header_bytes))
        if parser is None or self.error is not None:
            return
        method, version = parser.get_method(), parser.get_http_version()
        if version not in _VERSIONS:
            self._break(InvalidRequest(f"HTTP/{version} is not supported"))
            return
        if method == b"CONNECT":
            self._break(InvalidRequest("CONNECT is for proxies"))
            return
        head = RequestHead(
            (self._unknown_method or method).decode("ascii"),
            self._target,
            self._headers,
            http_10=version == "1.0",
            keep_alive=parser.should_keep_alive() and self._unknown_method is None,
        )
        self._target, self._headers = b"", []
        self._arriving = IncomingRequest(head, head.content_length)
        self.requests.append(self._arriving)

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        if self._arriving is not None:
            self._arriving.feed(body)

    def on_message_complete(self) -> None:
        self._in_message = False
        self._head_bytes = 0
        if self._arriving is not None:
            self._arriving.complete = True
            self._arriving = None


def _unknown_method(data: bytes) -> bytes | None:
    """The method of a complete HTTP/1.1 request line, if it is a plausible name that httptools rejects."""
    line, line_end, _ = data.partition(b"\r\n")
    method, _, rest = line.partition(b" ")
    target, _, version = rest.partition(b" ")
    is_name = 0 < len(method) <= _MAX_METHOD_BYTES and not method.translate(None, _METHOD_LETTERS)
    is_request_line = line_end and target.startswith(b"/") and version == b"HTTP/1.1"
    if not is_name or not is_request_line or method.startswith(b"-"):
        return None
    return method if all(0x21 <= byte <= 0x7E for byte in target) else None
