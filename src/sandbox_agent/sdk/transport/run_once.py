"""Something that has to happen once before anything else: whoever comes meanwhile waits for it too."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class RunOnce:
    """Opens for good when its work has succeeded. A failure is told to all who waited; the next to come
    tries again."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._open = False
        self._failure: Exception | None = None
        self._lock = asyncio.Lock()

    async def passed(self) -> None:
        """Return once the work is done."""
        if self._open:
            return
        known_failure = self._failure
        async with self._lock:
            if self._open:
                return
            if self._failure is not None and self._failure is not known_failure:
                raise self._failure
            try:
                await self._work()
            except Exception as failure:
                self._failure = failure
                raise
            self._open = True
