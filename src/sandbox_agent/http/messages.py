"""Requests and responses as the handlers see them, on top of plain ASGI.

A handler is `async def handler(request, services) -> Response | StreamingResponse` and raises errors of
`sandbox_agent.errors`. Bodies are read at most once, never beyond the given limit, and only when asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.body_limit import check_body_size

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, MutableMapping
    from typing import Any, TypeAlias, TypeVar

    T = TypeVar("T")

# In quotes, because their parts are imported for type checkers only.
Scope: TypeAlias = "MutableMapping[str, Any]"
Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"
HeaderList = list[tuple[bytes, bytes]]

JSON = b"application/json"
_SHORT_WORK_S = 0.02
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_MAX_SEGMENT_BYTES = 1024
_MAX_DIGITS = 18


class ClientDisconnected(Exception):
    """The client went away while its body was being read."""


def first_headers(pairs: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """A map of headers; the first of several headers with one name counts."""
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        headers.setdefault(name, value)
    return headers


def joined_headers(own: HeaderList, common: HeaderList) -> HeaderList:
    """The headers of a response and those of every response; `vary` of both becomes one header."""
    varying = [value for name, value in own if name == b"vary"]
    if not varying:
        return [*own, *common]
    merged = [(name, b", ".join((value, *varying)) if name == b"vary" else value) for name, value in common]
    return [*(pair for pair in own if pair[0] != b"vary"), *merged]


def with_length(status: int, headers: HeaderList, body: bytes) -> HeaderList:
    """Headers as sent; 204 and 304 have no length, HEAD has the length of the GET."""
    if status in (204, 304) or any(name == b"content-length" for name, _ in headers):
        return headers
    return [*headers, (b"content-length", b"%d" % len(body))]


def offered_subprotocols(headers: HeaderList) -> list[str]:
    """The subprotocols of a WebSocket handshake, in the client's order."""
    values = b",".join(value for name, value in headers if name == b"sec-websocket-protocol")
    return [name for part in values.decode("latin-1").split(",") if (name := part.strip())]


def decode_component(raw: bytes, *, plus_is_space: bool = False) -> str:
    """Percent-decode once; a stray `%` is literal, other than UTF-8 is refused."""
    if plus_is_space:
        raw = raw.replace(b"+", b" ")
    try:
        return (_unescaped(raw) if b"%" in raw else raw).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("the address is not valid UTF-8 after percent-decoding") from None


def decode_segment(raw: bytes) -> str:
    """The text of one segment of a path."""
    text = decode_component(raw)
    if len(text.encode()) > _MAX_SEGMENT_BYTES:
        raise InvalidRequest(f"a path segment may have {_MAX_SEGMENT_BYTES} bytes at most")
    return text


def _unescaped(raw: bytes) -> bytes:
    first, *others = raw.split(b"%")
    parts = [first]
    for other in others:
        code = other[:2]
        is_escape = len(code) == 2 and not code.strip(_HEX_DIGITS)
        parts += (bytes((int(code, 16),)), other[2:]) if is_escape else (b"%", other)
    return b"".join(parts)


def parse_number(text: str) -> int | None:
    """A non-negative integer of at most 18 plain digits; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


class Query:
    """Query parameters: unknown ones are ignored, a known one given twice is an error."""

    def __init__(self, raw: bytes) -> None:
        self._values: dict[str, list[str]] = {}
        for pair in raw.split(b"&") if raw else ():
            if pair:
                name, _, value = pair.partition(b"=")
                key = decode_component(name, plus_is_space=True)
                self._values.setdefault(key, []).append(decode_component(value, plus_is_space=True))

    def get(self, name: str, *aliases: str) -> str | None:
        found = [value for key in (name, *aliases) for value in self._values.get(key, ())]
        if len(found) > 1:
            raise InvalidRequest(f"query parameter '{name}' is given more than once")
        return found[0] if found else None

    def require(self, name: str, *aliases: str) -> str:
        value = self.get(name, *aliases)
        if value is None:
            raise InvalidRequest(f"missing required '{name}' query parameter")
        return value

    def flag(self, name: str, *aliases: str) -> bool:
        value = self.get(name, *aliases)
        if value not in (None, "true", "false"):
            raise InvalidRequest(f"query parameter '{name}' must be true or false")
        return value == "true"


class Request:
    """One HTTP request. `path_params` are the decoded `{...}` segments of the route."""

    def __init__(self, scope: Scope, receive: Receive, path_params: tuple[str, ...] = ()) -> None:
        self.method: str = scope["method"]
        self.raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        self.headers: dict[bytes, bytes] = first_headers(scope["headers"])
        self.raw_query: bytes = scope.get("query_string", b"")
        self.path_params = path_params
        self._receive = receive
        self._query: Query | None = None

    @property
    def query(self) -> Query:
        if self._query is None:
            self._query = Query(self.raw_query)
        return self._query

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def media_type(self) -> bytes:
        """Content type without parameters, lower-case; empty when absent."""
        return self.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()

    async def stream(self) -> AsyncIterator[bytes]:
        """The body piece by piece."""
        more = True
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk = message.get("body", b"")
            if chunk:
                yield chunk
            more = message.get("more_body", False)

    async def wait_for_disconnect(self) -> None:
        """Return when the client has left. Called after the body has been read.

        The server command then takes the end of the client's data for its leaving.
        """
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def while_connected(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, which is cancelled if the client leaves. Raises ClientDisconnected."""
        import asyncio  # loaded already: this is a coroutine

        task = asyncio.ensure_future(work)
        leaving = None
        try:
            # Most work is done by then, and needs no second task.
            await asyncio.wait({task}, timeout=_SHORT_WORK_S)
            if not task.done():
                leaving = asyncio.ensure_future(self.wait_for_disconnect())
                await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientDisconnected
            return task.result()
        finally:
            if leaving is not None:
                leaving.cancel()
            if task.cancel():
                await asyncio.wait([task])

    async def body(self, limit: int) -> bytes:
        """The whole body, or PayloadTooLarge as soon as it is known to exceed `limit` bytes."""
        length = self.headers.get(b"content-length", b"0")
        check_body_size(int(length) if length.isdigit() else 0, limit)
        first = b""
        rest = bytearray()  # Not a list: small pieces would take many times their size.
        async for chunk in self.stream():
            check_body_size(len(first) + len(rest) + len(chunk), limit)
            if first:
                rest += chunk
            else:
                first = chunk
        return first + rest if rest else first


class Response:
    """A complete response."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        status: int = 200,
        body: bytes = b"",
        headers: HeaderList | None = None,
        content_type: bytes | None = None,
    ) -> None:
        self.status = status
        self.body = body
        self.headers: HeaderList = headers if headers is not None else []
        if content_type is not None:
            self.headers.append((b"content-type", content_type))

    @classmethod
    def json(cls, body: bytes) -> Response:
        return cls(200, body, content_type=JSON)

    async def send(self, request_method: str, send: Send) -> None:
        headers = with_length(self.status, self.headers, self.body)
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if request_method == "HEAD" else self.body})


class StreamingResponse:
    """A response produced piece by piece; `chunks` is closed in any case."""

    __slots__ = ("chunks", "headers", "status")

    def __init__(self, status: int, headers: HeaderList, chunks: AsyncIterator[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.chunks = chunks

    async def send(self, request_method: str, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            if request_method != "HEAD":
                async for chunk in self.chunks:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            close = getattr(self.chunks, "aclose", None)
            if close is not None:
                await close()
