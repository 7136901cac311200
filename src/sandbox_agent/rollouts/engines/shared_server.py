"""The local server that the rollouts of a process share when their `Rollout` has no sandbox."""

from __future__ import annotations

import asyncio

from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions

START_S = 60.0
"""How long a local server may take to start: batches load a machine."""
# The commands of all rollouts of the process; an exited one is kept for what it has left in the background.
_ARGUMENTS = ("--max-processes", "10000", "--max-exited-processes", "100000")


class SharedServer:
    """Starts with the first rollout that asks for it, and again when it has ended or did not start."""

    def __init__(self) -> None:
        self._starts: list[asyncio.Task[AsyncSandboxAgent]] = []

    async def client(self) -> AsyncSandboxAgent:
        if not self._starts or not _is_usable(self._starts[-1]):
            opening = AsyncSandboxAgent.start(spawn=SpawnOptions(args=_ARGUMENTS, timeout=START_S))
            self._starts.append(asyncio.create_task(opening))
        return await asyncio.shield(self._starts[-1])

    async def aclose(self) -> None:
        for start in self._starts:
            start.cancel()
            await asyncio.wait([start])
            if not start.cancelled() and start.exception() is None:
                await start.result().aclose()


def _is_usable(start: asyncio.Task[AsyncSandboxAgent]) -> bool:
    """Whether it goes on, or has started a server that lives."""
    if not start.done():
        return True
    return not start.cancelled() and start.exception() is None and start.result()._alive()
