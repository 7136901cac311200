"""--lease-s: the server stops when no client has renewed its lease for this time.

The lease is renewed by every request with the token, except health probes, and by an open response whose
client still receives: a stream gets a heartbeat every 15 s, and the kernel of a lost client does not
acknowledge it. Time in which the server itself did not run, because its sandbox was paused, does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.http.http1.server import Http1Server, ServedConnection
    from sandbox_agent.runtime.loop import Loop

logger = logs.Log("sandbox_agent.server")

_MAX_INTERVAL_S = 5.0
_INTERVALS_PER_LEASE = 8


class Lease:
    def __init__(self, limit_s: float, loop: Loop, http: Http1Server, expired: Callable[[], object]) -> None:
        """Check from now on; `expired` is called once, `limit_s` seconds after the last sign of life."""
        self._limit_s = limit_s
        self._interval_s = min(limit_s / _INTERVALS_PER_LEASE, _MAX_INTERVAL_S)
        self._loop = loop
        self._http = http
        self._expired = expired
        self._renewed = False
        self._silent_s = 0.0
        self._acknowledged: dict[ServedConnection, int] = {}
        """Of connections with an open response, the bytes that the client had at the last check."""
        self._checked_at = loop.time()
        loop.call_later(self._interval_s, self._check)

    def renew(self) -> None:
        """Note a sign of life. Only a flag, because it is called for every message."""
        self._renewed = True

    def _check(self) -> None:
        now = self._loop.time()
        # A check that comes late was delayed by a pause of the sandbox or by load.
        elapsed_s, self._checked_at = min(now - self._checked_at, 2 * self._interval_s), now
        has_reader = self._has_reader()
        if self._renewed or has_reader:
            self._silent_s, self._renewed = 0.0, False
        else:
            self._silent_s += elapsed_s
        if self._silent_s >= self._limit_s:
            logger.info("lease.expired", lease_s=self._limit_s)
            self._expired()
        else:
            self._loop.call_later(self._interval_s, self._check)

    def _has_reader(self) -> bool:
        """Whether a client has taken everything sent to it, or at least something since the last check."""
        before, self._acknowledged = self._acknowledged, {}
        found = False
        for connection in self._http.awaited():
            taken, waiting = connection.delivered()
            self._acknowledged[connection] = taken
            found = found or not waiting or taken > before.get(connection, taken)
        return found
