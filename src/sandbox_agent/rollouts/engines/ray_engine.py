"""`engine="ray"`: rollouts as tasks of a Ray cluster; the driver keeps the rows.

A task whose node or worker is lost runs again elsewhere, at most `node_retries` times; after that its row has
the error kind `lost`. Ray starts nothing here: without a cluster, `ray.init(address="auto")` fails, because a
cluster started on the fly listens on all addresses of the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.rollouts.engines.work import Work
from sandbox_agent.rollouts.engines.worker import run_here
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout


class RayEngine:
    def __init__(
        self,
        at_once: int,
        retries: int,
        *,
        address: str = "auto",
        node_retries: int = 3,
        task_options: Mapping[str, Any] | None = None,
    ) -> None:
        """`task_options` are those of `ray.remote`, such as `{"num_cpus": 0.25}`."""
        self._at_once = at_once
        self._retries = retries
        self._address = address
        self._node_retries = node_retries
        self._task_options = dict(task_options or {})

    async def results(self, rollout: Rollout, work: Iterator[Work]) -> AsyncGenerator[Result, None]:
        import ray

        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False)
        # Ray does not tell a task which of its retries it is, so they are submitted here.
        remote = ray.remote(**{"max_retries": 0, **self._task_options})(_run_task)
        shared = ray.put(rollout)
        running: dict[asyncio.Future[Result], _Submitted] = {}

        def submit(item: Work, attempt: int) -> None:
            reference = remote.remote(shared, item, self._retries, attempt)
            running[asyncio.wrap_future(reference.future())] = _Submitted(item, attempt, reference)

        try:
            while True:
                while len(running) < self._at_once and (item := next(work, None)) is not None:
                    submit(item, 1)
                if not running:
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    was = running.pop(future)
                    error = future.exception()
                    if _is_loss(error) and was.attempt <= self._node_retries:
                        submit(was.work, was.attempt + 1)
                    elif error is not None:
                        yield _row_of(error, was, rollout)
                    else:
                        yield future.result()
        finally:
            for future, submitted in running.items():
                future.cancel()
                ray.cancel(submitted.reference, force=True)


@dataclass(frozen=True, slots=True)
class _Submitted:
    work: Work
    attempt: int
    reference: Any


def _run_task(rollout: Rollout, work: Work, retries: int, attempt: int) -> Result:
    """In a worker of Ray; a plain function, because Ray has no asynchronous tasks."""
    import ray

    result = run_here(rollout, work, retries, attempt)
    result.node = ray.util.get_node_ip_address()
    return result


def _is_loss(error: BaseException | None) -> bool:
    """Whether Ray has lost the task; a `RayTaskError` is what the function has raised."""
    from ray.exceptions import RayError, RayTaskError

    return isinstance(error, RayError) and not isinstance(error, RayTaskError)


def _row_of(error: BaseException, was: _Submitted, rollout: Rollout) -> Result:
    text = f"{type(error).__name__}: {error}"[:4000]
    kind = "lost" if _is_loss(error) else "other"
    return Result(id=was.work.id, attempt=was.attempt, agent=rollout.agent, error=text, error_kind=kind)
