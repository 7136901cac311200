"""Steps of one piece of file work that run one after the other, with a cleanup at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from sandbox_agent import logs
from sandbox_agent.errors import Timeout
from sandbox_agent.workspace.executor.file_executor import FileExecutor
from sandbox_agent.workspace.executor.file_task import FileTask
from sandbox_agent.workspace.executor.progress_token import ProgressToken

logger = logs.Log("sandbox_agent.files")

P = ParamSpec("P")
T = TypeVar("T")


class SerialExecutor:
    """Runs steps that never overlap. After `close` the cleanup runs as the last step.

    A lost step stays the current one until its thread returns; only then does the cleanup run. `progress` is
    the token that the steps report to.
    """

    def __init__(self, executor: FileExecutor, path: str, progress: ProgressToken | None = None) -> None:
        self._executor = executor
        self._path = path
        self._progress = progress or ProgressToken()
        self._current: FileTask | None = None
        self._cleanup: Callable[[], None] | None = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run one step, as `FileExecutor.run` does."""
        task = self._executor.submit(self._path, lambda: function(*args, **kwargs), self._progress)
        self._current = task
        task.on_return = self._step_returned
        result: T = await task.future
        return result

    def close(self, cleanup: Callable[[], None]) -> None:
        """Run `cleanup` after the current step. Returns at once; no further step may be run."""
        self._cleanup = cleanup
        if self._current is None:
            self._start_cleanup()

    def _step_returned(self) -> None:
        self._current = None
        if self._cleanup is not None:
            self._start_cleanup()

    def _start_cleanup(self) -> None:
        cleanup, self._cleanup = self._cleanup, None
        if cleanup is not None:
            try:
                task = self._executor.submit(self._path, cleanup, ProgressToken())
            except Timeout:
                threading.Thread(target=cleanup, name="file-cleanup", daemon=True).start()
                return
            task.future.add_done_callback(_log_failure)


def _log_failure(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        logger.warning("files.cleanup_failed", error=str(future.exception()))
