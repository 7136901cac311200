"""Rollouts in a worker process of an engine: one event loop in a thread, and one local server to share."""

from __future__ import annotations

import asyncio
import threading
from functools import cache

from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout
from sandbox_agent.rollouts.work import Work, run_with_retries
from sandbox_agent.sdk.client.client import AsyncSandboxAgent


class Worker:
    """Starts with the first rollout of a process and ends with the process, and the server with it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._client: asyncio.Task[AsyncSandboxAgent] | None = None
        threading.Thread(target=self._loop.run_forever, name="rollouts", daemon=True).start()

    def run(self, rollout: Rollout, work: Work, retries: int, attempt: int) -> Result:
        running = self._run(rollout, work, retries, attempt)
        return asyncio.run_coroutine_threadsafe(running, self._loop).result()

    async def _run(self, rollout: Rollout, work: Work, retries: int, attempt: int) -> Result:
        client = await self._shared_client() if rollout.sandbox is None else None
        return await run_with_retries(rollout, work, retries, client, attempt)

    async def _shared_client(self) -> AsyncSandboxAgent:
        """One server for this process; it is started again if it has ended."""
        if self._client is not None and self._client.done():
            failed = self._client.cancelled() or self._client.exception() is not None
            if failed or not self._client.result()._alive():
                self._client = None
        if self._client is None:
            self._client = asyncio.create_task(AsyncSandboxAgent.start())
        return await asyncio.shield(self._client)


@cache
def this_worker() -> Worker:
    return Worker()


def run_here(rollout: Rollout, work: Work, retries: int = 0, attempt: int = 1) -> Result:
    """Run one rollout in this process and wait for it; for engines whose tasks are plain functions."""
    return this_worker().run(rollout, work, retries, attempt)
