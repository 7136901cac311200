"""The heartbeat of a piece of file work that runs in a thread.

Long work (a big copy, a recursive delete, an archive) calls `beat()` whenever it gets ahead. The waiter
measures silence, not length, and may give up: then the next `beat()` raises `Abandoned`, so that work whose
caller was already told "timeout" never changes anything later.
"""

from __future__ import annotations

import time


class Abandoned(Exception):
    """Nobody waits for this work any more."""


class ProgressToken:
    """Last sign of life of one piece of work. Thread-safe."""

    __slots__ = ("_abandoned", "last")

    def __init__(self) -> None:
        self._abandoned = False
        self.last = time.monotonic()

    def beat(self) -> None:
        """Say that the work got ahead.

        Raises:
            Abandoned: the waiter gave up.
        """
        self.check()
        self.last = time.monotonic()

    def check(self) -> None:
        """Stop if nobody waits any more; for work that waits for others and does not get ahead."""
        if self._abandoned:
            raise Abandoned

    def abandon(self) -> None:
        self._abandoned = True
