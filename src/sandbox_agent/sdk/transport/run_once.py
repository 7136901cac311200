"""Run an async function once; concurrent callers wait for the same result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class RunOnce:
    """Runs `work` until it has succeeded once.

    A failure is raised to every caller that waited for that attempt; the next caller tries again.
    """

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._succeeded = False
        self._failure: Exception | None = None
        self._lock = asyncio.Lock()

    async def run(self) -> None:
        """Return once the work has succeeded."""
        if self._succeeded:
            return
        earlier_failure = self._failure
        async with self._lock:
            if self._succeeded:
                return
            if self._failure is not None and self._failure is not earlier_failure:
                raise self._failure
            try:
                await self._work()
            except Exception as failure:
                self._failure = failure
                raise
            self._succeeded = True
