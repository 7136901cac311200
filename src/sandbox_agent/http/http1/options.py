"""What a user of `http1` decides: limits, time-outs, and what is added to responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sandbox_agent.http.http1.request_head import RequestHead


class Http1Options(NamedTuple):
    max_header_bytes: int
    request_timeout_s: float
    """Time for a head to arrive, and for every 64 KiB of a body."""
    keep_alive_s: float
    """Time that a connection may stay open between two requests."""
    write_timeout_s: float = 60.0
    """Time after which a client that takes nothing of its response is disconnected."""
    problem_headers: Sequence[tuple[bytes, bytes]] = ()
    """Headers of problem documents for requests that reach no handler."""
    on_response: Callable[[RequestHead, int], None] | None = None
    """Called with the head of the request and the status when a response begins."""
