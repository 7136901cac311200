"""The time-outs of a connection: keep-alive, slow heads, slow bodies, and lingering after an early answer.

Times are arguments: nothing here reads a clock. A state begins when it is first seen by one of the checks,
about once a second, so that the clock is not read for every request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.http1.options import Http1Options

# How long the rest of a refused body is read before the connection is aborted.
_LINGER_S = 30.0
# A body must bring this much, or its end, in every period of `request_timeout_s`.
_BODY_PACE_BYTES = 64 * 1024


class ConnectionTimeouts:
    """Measures how long a connection has been in its state."""

    __slots__ = ("_options", "_paced_bytes", "state_since")

    def __init__(self, options: Http1Options) -> None:
        self._options = options
        self.state_since: float | None = None
        """When the state was first seen by a check; the connection sets None when it changes its state."""
        self._paced_bytes = 0
        """How much of the body had arrived at `state_since`."""

    def keep_alive_over(self, now: float) -> bool:
        return self._elapsed(now) > self._options.keep_alive_s

    def head_too_slow(self, now: float) -> bool:
        return self._elapsed(now) > self._options.request_timeout_s

    def body_too_slow(self, now: float, exchange: Exchange) -> bool:
        received = exchange.request.received
        if self.state_since is None:
            self._paced_bytes = received
        if self._elapsed(now) <= self._options.request_timeout_s or exchange.is_full:
            return False  # While the exchange is full, the handler is slow, not the client.
        if received - self._paced_bytes < _BODY_PACE_BYTES:
            return True
        self._paced_bytes, self.state_since = received, now
        return False

    def lingering_over(self, now: float) -> bool:
        return self._elapsed(now) > _LINGER_S

    def _elapsed(self, now: float) -> float:
        if self.state_since is None:
            self.state_since = now
        return now - self.state_since
