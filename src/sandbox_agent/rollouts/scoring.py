"""The score of a rollout: from the function of the user, or from the exit codes of the grading commands."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.task_fields import Task

Score = Callable[[Any, Result], float | Awaitable[float | None] | None]


async def score_of(score: Score | None, task: Task, result: Result, after: Sequence[str]) -> float | None:
    """The score; None if `score` gives none, or if there is neither a function nor a command in `after`.

    A function that is not asynchronous runs in a thread.
    """
    if score is None:
        return float(all(result.exit_codes[command] == 0 for command in after)) if after else None
    is_async = inspect.iscoroutinefunction(score)
    value = score(task, result) if is_async else await asyncio.to_thread(score, task, result)
    value = await value if inspect.isawaitable(value) else value
    return None if value is None else float(value)
