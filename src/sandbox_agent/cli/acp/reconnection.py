"""How long an unreachable server is tried again, with growing pauses."""

from __future__ import annotations

import random
import time

from sandbox_agent.cli.acp.server_connection import Unreachable

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
# A server that was never reached has a wrong address or is not running; a start takes a moment.
_FIRST_CONTACT_S = 3.0


class Reconnection:
    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self.reached = False
        """Whether the server has ever answered."""

    @property
    def limit_s(self) -> float:
        return self._limit_s if self.reached else min(self._limit_s, _FIRST_CONTACT_S)

    def attempt(self) -> Attempt:
        """For one request, or one connection of the stream."""
        return Attempt(self)


class Attempt:
    def __init__(self, reconnection: Reconnection) -> None:
        self._reconnection = reconnection
        self._since: float | None = None
        self._failures = 0

    def failed(self, error: Unreachable) -> None:
        """Wait before the next try. Raises the error if the server was unreachable for too long."""
        now = time.monotonic()
        self._since = self._since or now
        left_s = self._since + self._reconnection.limit_s - now
        if left_s <= 0:
            raise error
        pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(self._failures, 16))
        self._failures += 1
        jitter = 0.75 + 0.5 * random.random()  # noqa: S311 - needs no secrecy
        time.sleep(min(left_s, pause * jitter))

    def succeeded(self) -> None:
        self._since = None
        self._failures = 0
