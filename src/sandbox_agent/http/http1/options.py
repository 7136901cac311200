"""What a user of `http1` decides: limits, time-outs, and what is added to responses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.http.http1.request_head import RequestHead
    from sandbox_agent.http.messages import HeaderList


@dataclass(frozen=True, slots=True)
class Http1Options:
    max_header_bytes: int
    request_timeout_s: float
    """Time for a head to arrive, and for every 64 KiB of a body."""
    keep_alive_s: float
    """Time that a connection may stay open between two requests."""
    problem_headers: HeaderList = field(default_factory=list)
    """Headers of problem documents for requests that reach no handler."""
    on_response: Callable[[RequestHead, int], None] | None = None
    """Called with the head of the request and the status when a response begins."""
