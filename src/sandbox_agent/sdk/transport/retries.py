"""Which requests are repeated, and when to give up.

Repeated are a request that was never sent, and an idempotent one that met a broken connection or a
gateway's 502 to 504; the server's own 502 and 504 are final. A refused connection is treated apart: a
server that restarts is back within a moment, so it gets 0.75 s, then the failure is raised.
"""

from __future__ import annotations

import random
import time

import httpx

from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError, APITimeoutError, SandboxAgentError

FIRST_RETRY_S = 0.25
LAST_RETRY_S = 8.0
GATEWAY_STATUSES = frozenset({502, 503, 504})
# Long enough for a server restart, short enough that the failure is raised within a second.
REFUSED_LIMIT_S = 0.75
REFUSED_PAUSE_S = 0.05


class Retries:
    """Decides after each failure of one request whether to repeat it."""

    def __init__(self, limit: int, *, idempotent: bool, read_only: bool = False) -> None:
        self._limit = limit
        self._idempotent = idempotent
        self._read_only = read_only
        self._failures = 0
        self._refusals = 0
        self._refused_since: float | None = None

    def pause_after(self, error: SandboxAgentError) -> float | None:
        """Seconds to wait before the next attempt; None if there is none."""
        if self._limit == 0 or not self._may_repeat(error):
            return None
        if refused(error) or server_stopping(error):
            now = time.monotonic()
            self._refused_since = self._refused_since or now
            pause = backoff(self._refusals, first=REFUSED_PAUSE_S)
            self._refusals += 1
            return pause if now + pause - self._refused_since <= REFUSED_LIMIT_S else None
        if self._failures == self._limit:
            return None
        self._failures += 1
        return backoff(self._failures - 1)

    def _may_repeat(self, error: SandboxAgentError) -> bool:
        if isinstance(error, APIStatusError):
            return server_stopping(error) or (self._idempotent and gateway_failed(error))
        if isinstance(error, APITimeoutError):
            return self._read_only
        return isinstance(error, APIConnectionError) and (self._idempotent or never_sent(error))


def server_stopping(error: BaseException) -> bool:
    """True if the server refuses requests because it is stopping."""
    return isinstance(error, APIStatusError) and error.error_type == "server_stopping"


def gateway_failed(error: APIStatusError) -> bool:
    """True if a gateway answered in place of the server."""
    return error.status_code in GATEWAY_STATUSES and not error.error_type


def never_sent(error: BaseException) -> bool:
    """True if the request certainly did not reach the server."""
    return isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)


def refused(error: BaseException | None) -> bool:
    """True if the connection was refused: no server listens at the address."""
    return _caused_by(error, ConnectionRefusedError)


def unreachable(error: BaseException | None) -> bool:
    """True if waiting does not help: the connection was refused, or the host name is unknown."""
    return isinstance(getattr(error, "__cause__", None), httpx.ConnectError) and _caused_by(error, OSError)


def backoff(attempt: int, *, first: float = FIRST_RETRY_S, limit: float = LAST_RETRY_S) -> float:
    """Seconds to wait before the next attempt: doubling, with jitter to spread clients out."""
    delay = min(limit, first * 2.0 ** min(attempt, 16))
    return delay * (0.75 + 0.5 * random.random())  # noqa: S311 - jitter needs no secrecy


def _caused_by(error: BaseException | None, kind: type[BaseException]) -> bool:
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, kind):
            return True
        if isinstance(error, BaseExceptionGroup):
            return any(_caused_by(inner, kind) for inner in error.exceptions)
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False
