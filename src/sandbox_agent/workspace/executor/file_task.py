"""One call of file work on its way through a thread: waiting, running, long-running, finished or lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from sandbox_agent.workspace.executor.fault_domain import fault_domain
from sandbox_agent.workspace.executor.progress_token import ProgressToken


class FileTask:
    """A call, its result and its time limit. Everything but `run` belongs to the event loop's thread."""

    def __init__(self, path: str, call: Callable[[], Any], progress: ProgressToken) -> None:
        self.path = path
        self.progress = progress
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.on_return: Callable[[], None] | None = None
        """Called when the thread has returned, or when the task never gets one."""
        self._call = call
        self._timer: asyncio.TimerHandle | None = None
        self._result: Any = None
        self._error: BaseException | None = None

    @cached_property
    def domain(self) -> str:
        """The part of the file system that hangs together with the path."""
        return fault_domain(self.path)

    @property
    def silence_s(self) -> float:
        """Time without progress."""
        return time.monotonic() - self.progress.last

    def run(self) -> None:
        """Call the function in the current thread and keep the outcome."""
        try:
            self._result = self._call()
        except BaseException as exc:  # the waiter gets it
            self._error = exc

    def check_after(self, seconds: float, check: Callable[[FileTask], None]) -> None:
        """Call `check` after that time, unless the task is resolved before."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, check, self)

    def resolve(self) -> None:
        """Give the outcome of `run` to the waiter."""
        if self._timer is not None:
            self._timer.cancel()
        if self.future.done():
            return  # the waiter was cancelled
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._result)

    def give_up(self, error: Exception) -> None:
        """Cancel the work and give `error` to the waiter."""
        self.progress.cancel()
        self._error = error
        self.resolve()

    def returned(self) -> None:
        if self.on_return is not None:
            self.on_return()
