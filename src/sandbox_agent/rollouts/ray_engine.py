"""`engine="ray"`: rollouts as tasks of a Ray cluster; the driver keeps the rows.

A task whose node or worker is lost runs again elsewhere, at most `node_retries` times; after that its row has
the error kind `lost`. Ray starts nothing here: without a cluster, `ray.init(address="auto")` fails, because a
cluster started on the fly listens on all addresses of the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout
from sandbox_agent.rollouts.work import Work
from sandbox_agent.rollouts.worker import run_here


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
        remote = ray.remote(max_retries=self._node_retries, **self._task_options)(_run_task)
        shared = ray.put(rollout)
        running: dict[asyncio.Future[Result], tuple[Work, Any]] = {}
        try:
            while True:
                while len(running) < self._at_once and (item := next(work, None)) is not None:
                    reference = remote.remote(shared, item, self._retries)
                    running[asyncio.wrap_future(reference.future())] = (item, reference)
                if not running:
                    return
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    item, _ = running.pop(future)
                    yield _result_of(future, item, rollout)
        finally:
            for future, (_, reference) in running.items():
                future.cancel()
                ray.cancel(reference, force=True)


def _run_task(rollout: Rollout, work: Work, retries: int) -> Result:
    """In a worker of Ray; a plain function, because Ray has no asynchronous tasks."""
    import ray

    result = run_here(rollout, work, retries)
    result.node = ray.util.get_node_ip_address()
    return result


def _result_of(future: asyncio.Future[Result], work: Work, rollout: Rollout) -> Result:
    error = future.exception()
    if error is None:
        return future.result()
    text = f"{type(error).__name__}: {error}"[:4000]
    return Result(id=work.id, agent=rollout.agent, error=text, error_kind="lost")
