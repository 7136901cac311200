"""One log line per request, switched on by SANDBOX_AGENT_LOG_HTTP=1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs

if TYPE_CHECKING:
    from sandbox_agent.http.http1.request_head import RequestHead

logger = logs.Log("sandbox_agent.requests")

_SECRET = frozenset(
    # Browsers can send the token of a WebSocket as a subprotocol only.
    (b"authorization", b"cookie", b"proxy-authorization", b"x-sandbox-agent-env", b"sec-websocket-protocol")
)


class RequestLog:
    def __init__(self, *, with_headers: bool) -> None:
        self._with_headers = with_headers

    def write(self, head: RequestHead, status: int) -> None:
        """Log a response. The query is left out, because it may hold secrets."""
        fields: dict[str, object] = {
            "method": head.method,
            "path": head.path.decode("latin-1"),
            "status": status,
        }
        if self._with_headers:
            fields["headers"] = {
                name.decode("latin-1"): "(redacted)" if name in _SECRET else value.decode("latin-1")
                for name, value in head.headers
            }
        logger.info("request", **fields)
