"""`engine="local"`: rollouts as tasks of one event loop on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from sandbox_agent.rollouts.engines.shared_server import SharedServer
from sandbox_agent.rollouts.engines.work import Work, run_with_retries
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout


class LocalEngine:
    def __init__(self, at_once: int, retries: int) -> None:
        self._at_once = at_once
        self._retries = retries

    async def results(self, rollout: Rollout, work: Iterator[Work]) -> AsyncGenerator[Result, None]:
        """Up to `at_once` rollouts run; leaving the iteration cancels them and ends their sandboxes."""
        running: set[asyncio.Task[Result]] = set()
        async with aclosing(SharedServer()) as shared:
            try:
                while True:
                    while len(running) < self._at_once and (item := next(work, None)) is not None:
                        running.add(
                            asyncio.create_task(
                                run_with_retries(rollout, item, self._retries, shared),
                                name=f"rollout {item.id}",
                            )
                        )
                    if not running:
                        return
                    done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        yield task.result()
            finally:
                for task in running:
                    task.cancel()
                if running:
                    await asyncio.wait(running)
