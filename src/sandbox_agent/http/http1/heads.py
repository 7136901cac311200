"""Request heads, and how to know one again.

A client on a keep-alive connection sends the same head again and again; only the length of the body changes.
So the last head of a connection is kept, together with what the guard said to it, and the next request that
begins with the very same bytes, but for that length, needs no reading. Equal bytes have equal meaning, so
this changes nothing but the time it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.messages import HeaderList, first_headers

if TYPE_CHECKING:
    from sandbox_agent.http.acp.post_options import PostOptions

# Enough for any size that is allowed, and far from any that overflows a parser.
MAX_LENGTH_DIGITS = 15
_BEFORE_LENGTH = b"\r\ncontent-length: "


class RequestHead:
    """Everything above the body."""

    __slots__ = (
        "content_length",
        "fault",
        "header_map",
        "headers",
        "http_10",
        "keep_alive",
        "known",
        "method",
        "path",
        "query",
    )

    def __init__(
        self, method: str, target: bytes, headers: HeaderList, *, http_10: bool, keep_alive: bool
    ) -> None:
        self.method = method
        self.headers = headers
        self.header_map = first_headers(headers)
        self.http_10 = http_10
        self.keep_alive = keep_alive
        if not target.startswith(b"/"):
            _, separator, rest = target.partition(b"://")
            target = b"/" + rest.partition(b"/")[2] if separator else target
        path, _, query = target.partition(b"?")
        self.path, self.query = path, query.partition(b"#")[0]
        length = self.header_map.get(b"content-length", b"")
        self.content_length = int(length) if length.isdigit() else None
        self.fault: SandboxAgentError | None = None
        if len(self.header_map) < len(headers) and sum(name == b"host" for name, _ in headers) > 1:
            self.fault = InvalidRequest("more than one Host header")
        codings = [value for name, value in headers if name == b"transfer-encoding"]
        if codings and [coding.strip().lower() for coding in codings] != [b"chunked"]:
            # Where such a body ends is a matter of taste; who stands in front may have another.
            self.fault = InvalidRequest("the only transfer coding is chunked")
            self.keep_alive = False
        self.known: CachedPost | None = None
        """What matters of the head of a POST to the ACP transport, once it was found in order."""

    @property
    def expects_continue(self) -> bool:
        return self.header_map.get(b"expect", b"").lower() == b"100-continue"


class CachedPost:
    """What the head of a message says: where it goes, what it asks for, what headers its answer has."""

    __slots__ = ("headers", "server_id", "terms")

    def __init__(self, server_id: str, terms: PostOptions, headers: HeaderList) -> None:
        self.server_id = server_id
        self.terms = terms
        self.headers = headers


class CachedHead:
    """A head that has come with a body of some length, and may come with one of another length."""

    __slots__ = ("_after", "_before", "_digits_at", "head")

    def __init__(self, block: bytes, head: RequestHead) -> None:
        """`block` are the bytes of an ordinary head with a Content-Length, the empty line included."""
        self.head = head
        self._digits_at = block.lower().index(_BEFORE_LENGTH) + len(_BEFORE_LENGTH)
        self._before = block[: self._digits_at]
        self._after = block[block.index(b"\r", self._digits_at) :]

    def match(self, data: bytes) -> tuple[CachedPost, int, int] | None:
        """What is known, how long the body is and where it begins, if `data` begins with this head."""
        at = self._digits_at
        end = data.find(b"\r", at, at + MAX_LENGTH_DIGITS + 1)
        if end < 0 or not data.startswith(self._before) or not data.startswith(self._after, end):
            return None
        digits, known = data[at:end], self.head.known
        if known is None or not digits.isdigit():
            return None
        return known, int(digits), end + len(self._after)
