"""Bounded polling, for facts that send no event: `wait_until` in threads, `eventually` on an event loop."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

_INTERVAL_S = 0.01


def wait_until(condition: Callable[[], Any], timeout: float, what: str) -> Any:
    """Poll until `condition()` is true, and return its value; fail with `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(_INTERVAL_S)
    return value


async def eventually(condition: Callable[[], Awaitable[bool] | bool], limit_s: float = 15.0) -> None:
    """Poll until the condition holds; fail after the limit."""
    async with asyncio.timeout(limit_s):
        for _ in range(1_000_000):
            result = condition()
            if await result if inspect.isawaitable(result) else result:
                return
            await asyncio.sleep(_INTERVAL_S)
