"""When a request may go out again, and when it is over.

Repeated is only what cannot do harm: a request that never left, and an idempotent one that met a broken
connection or a gateway's 502 to 504; the server's own 502 and 504 are its last word. An address where
nobody listens is told apart: a server that is being restarted is back within a moment, so it gets that
moment, and then the failure is told, within a second.
"""

from __future__ import annotations

import random
import time

import httpx

from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError, APITimeoutError, SandboxAgentError

FIRST_RETRY_S = 0.25
LAST_RETRY_S = 8.0
GATEWAY_STATUSES = frozenset({502, 503, 504})
# Long enough for a server to be replaced by the next, short enough to be told within a second.
REFUSED_PATIENCE_S = 0.75
REFUSED_PAUSE_S = 0.05


class Retries:
    """The history of one request, failure by failure."""

    def __init__(self, limit: int, *, idempotent: bool, read_only: bool = False) -> None:
        self._limit = limit
        self._idempotent = idempotent
        self._read_only = read_only
        self._failures = 0
        self._refusals = 0
        self._refused_since: float | None = None

    def pause_after(self, error: SandboxAgentError) -> float | None:
        """How long to wait before the next try; None if there must not be one."""
        if self._limit == 0 or not self._may_repeat(error):
            return None
        if refused(error) or server_stopping(error):
            now = time.monotonic()
            self._refused_since = self._refused_since or now
            pause = backoff(self._refusals, first=REFUSED_PAUSE_S)
            self._refusals += 1
            return pause if now + pause - self._refused_since <= REFUSED_PATIENCE_S else None
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
    """True if the server takes nothing in any more because it is about to end; its successor may."""
    return isinstance(error, APIStatusError) and error.error_type == "server_stopping"


def gateway_failed(error: APIStatusError) -> bool:
    """True if something between us and the server answered in its place."""
    return error.status_code in GATEWAY_STATUSES and not error.error_type


def never_sent(error: BaseException) -> bool:
    """True if the request certainly never reached the server."""
    return isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)


def refused(error: BaseException | None) -> bool:
    """True if nobody listens at the address: the server is not there, rather than hard to reach."""
    return _caused_by(error, ConnectionRefusedError)


def unreachable(error: BaseException | None) -> bool:
    """True if waiting will not help: nobody listens at the address, or there is no such name or address."""
    return isinstance(getattr(error, "__cause__", None), httpx.ConnectError) and _caused_by(error, OSError)


def backoff(attempt: int, *, first: float = FIRST_RETRY_S, limit: float = LAST_RETRY_S) -> float:
    """How long to wait before the next try: doubling, with jitter so that clients do not march in step."""
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
