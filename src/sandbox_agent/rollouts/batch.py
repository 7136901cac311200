"""`rollouts()`: run all tasks that have no row yet, and write a row for each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from sandbox_agent.rollouts.engines.local_engine import LocalEngine
from sandbox_agent.rollouts.engines.work import Engine, Work
from sandbox_agent.rollouts.output.output_directory import OutputDirectory, read_rows
from sandbox_agent.rollouts.progress_bar import ProgressBar
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout
from sandbox_agent.rollouts.run_function import in_event_loop
from sandbox_agent.rollouts.tally import Tally
from sandbox_agent.rollouts.task_source import TaskId, Tasks, count_tasks, read_tasks

EngineName = Literal["local", "ray"]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(slots=True)
class Batch:
    """What one call of `rollouts()` did."""

    output: Path
    tally: Tally = field(default_factory=Tally)
    """Of the rollouts that ran in this call."""
    skipped: int = 0
    """Tasks that had a row already."""

    def rows(self) -> Iterator[Result]:
        """All rows of the output directory, those of earlier calls too."""
        return (Result.from_row(row) for row in read_rows(self.output))

    def overall(self) -> Tally:
        """The figures of all rows of the output directory, those of earlier calls too."""
        return Tally.of(self.rows())


async def run_batch(
    tasks: Tasks,
    rollout: Rollout,
    *,
    output: str | PathLike[str],
    engine: EngineName = "local",
    at_once: int = 8,
    retries: int = 0,
    id: TaskId = None,
    retry_failed: bool = False,
    progress: bool = True,
    on_result: Callable[[Result], object] | None = None,
    engine_options: Mapping[str, Any] | None = None,
) -> Batch:
    """Run the tasks that have no row in `output` yet, `at_once` at a time.

    `tasks` is an iterable, or the path of a `.jsonl` or `.parquet` file (also `s3://...`). `id` names the
    field with a task's id. `retries` repeats failures of sandbox, agent process and connection. With
    `retry_failed` tasks whose row has an error run again. Ctrl-C ends the running sandboxes; the next call
    continues. `rollouts` is the same function for programs that have no event loop.

    Raises:
        OutputInUseError: another batch writes to `output`.
    """
    if at_once < 1 or retries < 0:
        raise ValueError("at_once must be positive and retries not negative")
    batch = Batch(Path(output))
    doing = _engine(engine, at_once, retries, engine_options or {})
    began = time.monotonic()
    with OutputDirectory(batch.output, retry_failed=retry_failed) as directory:

        def missing() -> Iterator[Work]:
            for task_id, task in read_tasks(tasks, id):
                if task_id in directory.done:
                    batch.skipped += 1
                else:
                    yield Work(task_id, task)

        bar = ProgressBar(count_tasks(tasks), len(directory.done)) if progress else None
        results = doing.results(rollout, missing())
        with bar or nullcontext():
            async with aclosing(results):
                async for result in results:
                    await directory.add(result)
                    batch.tally.add(result)
                    if bar is not None:
                        bar.show(batch.tally, time.monotonic() - began)
                    if on_result is not None:
                        on_result(result)
    return batch


def _waiting(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        if in_event_loop():
            raise RuntimeError(f"an event loop runs here: await {function.__name__}(...) instead")
        return asyncio.run(function(*args, **kwargs))

    return call


rollouts = _waiting(run_batch)


def _engine(name: EngineName, at_once: int, retries: int, options: Mapping[str, Any]) -> Engine:
    if name == "local":
        return LocalEngine(at_once, retries, **options)
    if name == "ray":
        from sandbox_agent.rollouts.engines.ray_engine import RayEngine  # the extra `ray`

        return RayEngine(at_once, retries, **options)
    raise ValueError(f"there is no engine {name!r}; there are local and ray")
