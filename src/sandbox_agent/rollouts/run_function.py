"""`Rollout.run`: a function that returns a coroutine, or in a worker of Ray the result.

Ray calls the function in another process and does not await what it returns. So a copy of the function that
was pickled runs the rollout itself and returns the `Result`, unless an event loop runs in the calling thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from sandbox_agent.rollouts.attempt import OpenClient
from sandbox_agent.rollouts.engines.work import Work
from sandbox_agent.rollouts.engines.worker import run_here
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.task_fields import Task
from sandbox_agent.sdk.client.client import AsyncSandboxAgent

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout


class RunFunction(Protocol):
    def __call__(
        self, task: Task, *, id: str = "", attempt: int = 1, client: AsyncSandboxAgent | None = None
    ) -> Coroutine[Any, Any, Result]:
        """`client` is a server to share, for rollouts without a `sandbox`; without it one is started."""
        ...


def run_function(rollout: Rollout) -> RunFunction:
    begin = _Begin(rollout)

    def run(
        task: Task, *, id: str = "", attempt: int = 1, client: AsyncSandboxAgent | None = None
    ) -> Any:  # a coroutine, or a `Result` in another process
        return begin(Work(id, task), attempt, client)

    return run


class _Begin:
    """Begins a rollout. A copy that was pickled knows that it was sent to another process."""

    def __init__(self, rollout: Rollout, is_sent: bool = False) -> None:
        self._rollout = rollout
        self._is_sent = is_sent

    def __reduce__(self) -> tuple[Any, ...]:
        return _Begin, (self._rollout, True)

    def __call__(self, work: Work, attempt: int, client: AsyncSandboxAgent | None) -> Any:
        if self._is_sent and not in_event_loop():
            return run_here(self._rollout, work, attempt=attempt)
        return self._rollout._run(work, attempt, None if client is None else _already_open(client))


def in_event_loop() -> bool:
    """Whether the caller runs in an event loop, where a coroutine can be awaited."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _already_open(client: AsyncSandboxAgent) -> OpenClient:
    async def give() -> AsyncSandboxAgent:
        return client

    return give
