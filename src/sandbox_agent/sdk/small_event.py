"""`SmallEvent`: an `asyncio.Event` in 120 bytes instead of 760.

A client keeps several events for each of its sessions, and most of them never have a waiter.
"""

from __future__ import annotations

import asyncio


class SmallEvent:
    """An event that can be set, cleared and waited for, on one loop."""

    __slots__ = ("_set", "_waiters")

    def __init__(self) -> None:
        self._set = False
        self._waiters: list[asyncio.Future[None]] = []

    def set(self) -> None:
        """Set it and wake everything that waits."""
        self._set = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def clear(self) -> None:
        """Let later calls of `wait` wait; calls that wait already are woken by the next `set`."""
        self._set = False

    async def wait(self) -> None:
        """Return when it is set."""
        if self._set:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            self._waiters.remove(waiter)
