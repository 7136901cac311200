"""One unit of work of a batch, and the interface of the engines that run it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sandbox_agent.rollouts.engines.shared_server import SharedServer
from sandbox_agent.rollouts.result import RETRIED, Result
from sandbox_agent.rollouts.task_fields import Task

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout


@dataclass(frozen=True, slots=True)
class Work:
    id: str
    task: Task


class Engine(Protocol):
    def results(self, rollout: Rollout, work: Iterator[Work]) -> AsyncGenerator[Result, None]:
        """Each result when it is ready. Takes new work only as fast as results are taken."""
        ...


async def run_with_retries(
    rollout: Rollout, work: Work, retries: int, shared: SharedServer, first_attempt: int = 1
) -> Result:
    """Run until the result is not a failure of the machinery, at most `retries` times more."""
    for attempt in range(first_attempt, first_attempt + retries + 1):
        result = await rollout._run(work, attempt, shared.client)
        if result.error_kind not in RETRIED:
            break
    return result
