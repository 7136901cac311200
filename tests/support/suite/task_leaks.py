"""Tasks that are still running when an event loop of a test ends, be it pytest's or one of `asyncio.run`.

Both end through `asyncio.Runner`, which cancels the remaining tasks silently. `watch` records them first:
tasks that do not end by themselves within a second are returned by `take_left`, and the test that left them
fails.
"""

from __future__ import annotations

import asyncio
from asyncio import runners

_GRACE_S = 1.0
_left: list[str] = []
_cancel_all_tasks = runners._cancel_all_tasks  # type: ignore[attr-defined]


def _record_and_cancel(loop: asyncio.AbstractEventLoop) -> None:
    running = asyncio.all_tasks(loop)
    if running:
        _, late = loop.run_until_complete(asyncio.wait(running, timeout=_GRACE_S))
        _left.extend(repr(task) for task in late)
    _cancel_all_tasks(loop)


def watch() -> None:
    runners._cancel_all_tasks = _record_and_cancel  # type: ignore[attr-defined]


def take_left() -> list[str]:
    """The tasks that were left since the last call."""
    left = _left.copy()
    _left.clear()
    return left
