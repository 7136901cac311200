"""Rollouts in a worker process of an engine: one event loop in a thread, and one local server to share."""

from __future__ import annotations

import asyncio
import threading
from functools import cache
from typing import TYPE_CHECKING

from sandbox_agent.rollouts.engines.shared_server import SharedServer
from sandbox_agent.rollouts.engines.work import Work, run_with_retries
from sandbox_agent.rollouts.result import Result

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout


class Worker:
    """An event loop and a shared server, made for the first rollout of a process and kept to its end."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._shared = SharedServer()
        threading.Thread(target=self._loop.run_forever, name="rollouts", daemon=True).start()

    def run(self, rollout: Rollout, work: Work, retries: int, attempt: int) -> Result:
        running = run_with_retries(rollout, work, retries, self._shared, attempt)
        return asyncio.run_coroutine_threadsafe(running, self._loop).result()


@cache
def this_worker() -> Worker:
    return Worker()


def run_here(rollout: Rollout, work: Work, retries: int = 0, attempt: int = 1) -> Result:
    """Run one rollout in this process and wait for it; for engines whose tasks are plain functions."""
    return this_worker().run(rollout, work, retries, attempt)
