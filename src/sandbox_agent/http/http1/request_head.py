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
        self.path, self.query, authority = _split_target(target)
        if authority is not None:
            self._replace_host(authority)
        length = self.header_map.get(b"content-length", b"")
        self.content_length = int(length) if length.isdigit() else None
        self.fault: SandboxAgentError | None = None
        """Why the request is refused although httptools could read it."""
        if len(self.header_map) < len(headers) and sum(name == b"host" for name, _ in headers) > 1:
            self.fault = InvalidRequest("more than one Host header")
        elif authority == b"":
            self.fault = InvalidRequest("the target names no host")
        elif b"host" not in self.header_map and not http_10:
            self.fault = InvalidRequest("no Host header")
        elif b"#" in target:
            self.fault = InvalidRequest("the target has a fragment")
        elif target == b"*" and method != "OPTIONS":
            self.fault = InvalidRequest("the target * is for OPTIONS only")
        codings = [value for name, value in headers if name == b"transfer-encoding"]
        if codings and (http_10 or [coding.strip().lower() for coding in codings] != [b"chunked"]):
            # A proxy in front may see another end of such a body: request smuggling.
            self.fault = InvalidRequest("the only transfer coding is chunked, and HTTP/1.0 has none")
            self.keep_alive = False
        self.handler: Handler | None = None
        """Answers further requests with the same head (see `cached_head`); set by the server's handler."""

    def _replace_host(self, authority: bytes) -> None:
        """The authority of an absolute target counts instead of the Host header (RFC 9112, 3.2.2)."""
        if b"host" in self.header_map:
            self.header_map[b"host"] = authority
            self.headers = [(name, authority if name == b"host" else value) for name, value in self.headers]

    @property
    def wants_websocket(self) -> bool:
        """The client asks to go on with the WebSocket protocol (RFC 6455)."""
        headers = self.header_map
        if headers.get(b"upgrade", b"").strip().lower() != b"websocket" or self.method != "GET":
            return False
        if b"transfer-encoding" in headers or headers.get(b"content-length", b"0").strip(b"0"):
            return False  # A proxy would take for a body what is a frame here.
        options = (
            b",".join(value for name, value in self.headers if name == b"connection").lower().split(b",")
        )
        return not self.http_10 and b"upgrade" in (option.strip() for option in options)

    @property
    def expects_continue(self) -> bool:
        return self.header_map.get(b"expect", b"").lower() == b"100-continue" and not self.http_10


def _split_target(target: bytes) -> tuple[bytes, bytes, bytes | None]:
    """Path and query of a request target, and the authority of an absolute one."""
    authority = None
    if not target.startswith(b"/"):
        _, separator, rest = target.partition(b"://")
        if separator:
            authority = rest.partition(b"/")[0].partition(b"?")[0]
            target = rest[len(authority) :]
            if not target.startswith(b"/"):
                target = b"/" + target
    path, _, query = target.partition(b"?")
    return path, query, authority


UNREADABLE = RequestHead("GET", b"/", [], http_10=False, keep_alive=False)
"""Stands in for a head that could not be read."""
