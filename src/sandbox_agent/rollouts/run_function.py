"""`Rollout.run`: a function that gives a coroutine where it was made, and waits where it was sent to."""

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
    ) -> Any:  # a coroutine, or in the copy that waits a `Result`
        return begin(Work(id, task), attempt, client)

    return run


class _Begin:
    """What the function refers to. Pickled with it, it becomes a copy that waits."""

    def __init__(self, rollout: Rollout, is_sent: bool = False) -> None:
        self._rollout = rollout
        self._is_sent = is_sent

    def __reduce__(self) -> tuple[Any, ...]:
        return _Begin, (self._rollout, True)

    def __call__(self, work: Work, attempt: int, client: AsyncSandboxAgent | None) -> Any:
        if self._is_sent and asyncio._get_running_loop() is None:
            return run_here(self._rollout, work, attempt=attempt)
        return self._rollout._run(work, attempt, None if client is None else _already_open(client))


def _already_open(client: AsyncSandboxAgent) -> OpenClient:
    async def give() -> AsyncSandboxAgent:
        return client

    return give
