"""What a user of `http1` decides: limits, time-outs, and what is added to responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox_agent.http.http1.request_head import RequestHead


class Http1Options:
    def __init__(
        self,
        *,
        max_header_bytes: int,
        request_timeout_s: float,
        keep_alive_s: float,
        write_timeout_s: float = 60.0,
        websocket_max_bytes: int = 16 * 1024 * 1024,
        websocket_ping_s: float = 20.0,
        problem_headers: Sequence[tuple[bytes, bytes]] = (),
        on_response: Callable[[RequestHead, int], None] | None = None,
    ) -> None:
        self.max_header_bytes = max_header_bytes
        self.request_timeout_s = request_timeout_s
        """Time for a head to arrive, and for every 64 KiB of a body."""
        self.keep_alive_s = keep_alive_s
        """Time that a connection may stay open between two requests."""
        self.write_timeout_s = write_timeout_s
        """Time after which a client that takes nothing of its response is disconnected."""
        self.websocket_max_bytes = websocket_max_bytes
        """Longest message of a WebSocket client; a longer one closes the connection with 1009."""
        self.websocket_ping_s = websocket_ping_s
        """Time without a byte from a WebSocket client until it is pinged; after twice the time it is lost."""
        self.problem_headers = problem_headers
        """Headers of problem documents for requests that reach no handler."""
        self.on_response = on_response
        """Called with the head of the request and the status when a response begins."""
