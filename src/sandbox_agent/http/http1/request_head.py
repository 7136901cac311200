"""The head of a request: request line and headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.messages import HeaderList, first_headers

if TYPE_CHECKING:
    from sandbox_agent.http.http1.exchange import Handler


class RequestHead:
    """Method, target and headers of a request, and what follows from them for its body and connection."""

    __slots__ = (
        "content_length",
        "fault",
        "handler",
        "header_map",
        "headers",
        "http_10",
        "keep_alive",
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
        self.path, self.query = _split_target(target)
        length = self.header_map.get(b"content-length", b"")
        self.content_length = int(length) if length.isdigit() else None
        self.fault: SandboxAgentError | None = None
        """Why the request is refused although httptools could read it."""
        if len(self.header_map) < len(headers) and sum(name == b"host" for name, _ in headers) > 1:
            self.fault = InvalidRequest("more than one Host header")
        codings = [value for name, value in headers if name == b"transfer-encoding"]
        if codings and [coding.strip().lower() for coding in codings] != [b"chunked"]:
            # A proxy in front may see another end of such a body: request smuggling.
            self.fault = InvalidRequest("the only transfer coding is chunked")
            self.keep_alive = False
        self.handler: Handler | None = None
        """Answers further requests with the same head (see `cached_head`); set by the server's handler."""

    @property
    def expects_continue(self) -> bool:
        return self.header_map.get(b"expect", b"").lower() == b"100-continue"


def _split_target(target: bytes) -> tuple[bytes, bytes]:
    """Path and query of a request target; an absolute target loses its scheme and authority."""
    if not target.startswith(b"/"):
        _, separator, rest = target.partition(b"://")
        target = b"/" + rest.partition(b"/")[2] if separator else target
    path, _, query = target.partition(b"?")
    return path, query.partition(b"#")[0]


UNREADABLE = RequestHead("GET", b"/", [], http_10=False, keep_alive=False)
"""Stands in for a head that could not be read."""
