"""Request heads, read once: clients on keep-alive connections send the same head again and again.

A head that came twice and is plain (a body of known length, nothing unusual asked) is remembered by its
bytes, together with what the guard said to it. The next request that begins with the very same bytes needs no
reading. Equal bytes have equal meaning, so this changes nothing but the time it takes.
"""

from __future__ import annotations

from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.exchange import HeaderList, first_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sandbox_agent.http.guard import Passed
    from sandbox_agent.http.post_terms import PostTerms

_MAX_HEADS = 512
_MAX_SEEN = 4096
_MAX_HEAD_BYTES = 4096
_UNUSUAL = (b"expect", b"transfer-encoding", b"upgrade")


class RequestHead:
    """Everything above the body."""

    __slots__ = (
        "content_length",
        "fault",
        "header_map",
        "headers",
        "http_10",
        "keep_alive",
        "method",
        "passed",
        "path",
        "post_terms",
        "query",
        "server_id",
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
        self.passed: Passed | None = None
        """What the guard said; kept because it depends on nothing but the head."""
        self.post_terms: PostTerms | None = None
        """What a POST to the ACP transport asks for, once it has been looked at."""
        self.server_id: str | None = None
        """The decoded id of a request to the ACP transport, once it has been looked at."""

    @property
    def expects_continue(self) -> bool:
        return self.header_map.get(b"expect", b"").lower() == b"100-continue"

    @property
    def is_plain(self) -> bool:
        return (
            self.content_length is not None
            and self.keep_alive
            and not self.http_10
            and self.fault is None
            and not any(name in self.header_map for name in _UNUSUAL)
        )


class KnownHeads(dict[bytes, RequestHead]):
    """Heads by their bytes, the empty line included."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: set[int] = set()
        """What came once: most heads never come again, and a kept one takes two kilobytes."""

    def remember(self, key: bytes, head: RequestHead) -> None:
        """These bytes were read as this head."""
        if len(key) > _MAX_HEAD_BYTES or not head.is_plain:
            return
        if hash(key) not in self._seen:
            if len(self._seen) >= _MAX_SEEN:
                self._seen.clear()
            self._seen.add(hash(key))
            return
        if len(self) >= _MAX_HEADS:
            self.clear()
        self[key] = head
