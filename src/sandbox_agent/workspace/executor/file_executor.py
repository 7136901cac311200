"""File work off the event loop, in few threads, none of which can be blocked by a disk that does not respond.

A task that runs longer than a second no longer counts against the number of threads, so long and hanging
tasks delay no others. A task without progress (see `ProgressToken`) for the time limit is lost: its caller
gets `Timeout`, whatever its thread does. Where several tasks hang in one fault domain, further tasks there
wait without a thread, and are refused at once when the first ones are lost.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from sandbox_agent import logs
from sandbox_agent.errors import Timeout
from sandbox_agent.workspace.executor.file_task import FileTask
from sandbox_agent.workspace.executor.progress_token import ProgressToken

THREADS = 16  # file work mostly waits for the disk; more threads would only queue there
LONG_S = 1.0
LONG_AT_ONCE = 256  # further long tasks count as ordinary ones again
HANGING_PER_DOMAIN = 4
MAX_LOST = 512  # each costs a thread that hangs in the kernel

logger = logs.Log("sandbox_agent.files")

P = ParamSpec("P")
T = TypeVar("T")


class FileExecutor:
    """The threads of one server. All methods belong to the event loop's thread."""

    def __init__(self, *, silence_s: float = 60.0, threads: int = THREADS, long_s: float = LONG_S) -> None:
        self.silence_s = silence_s
        self._long_s = min(long_s, silence_s)
        self._threads = threads
        self._queue: queue.SimpleQueue[FileTask | None] = queue.SimpleQueue()
        self._idle = 0
        self._waiting: dict[FileTask, None] = {}
        self._running: set[FileTask] = set()
        self._long: set[FileTask] = set()
        self._lost: set[FileTask] = set()

    async def run(self, path: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function`, which works on `path`, in a thread; a `ProgressToken` argument reports progress.

        Raises:
            Timeout: it made no progress for too long, or its file system is known to hang.
        """
        progress = _progress_argument(args, kwargs)
        result: T = await self.submit(path, lambda: function(*args, **kwargs), progress).future
        return result

    def close(self) -> None:
        """End the idle threads; busy ones end with the process."""
        for _ in range(self._idle):
            self._queue.put(None)
        self._idle = 0

    @property
    def lost(self) -> int:
        """Threads that hang although their callers have got an error."""
        return len(self._lost)

    def submit(self, path: str, call: Callable[[], Any], progress: ProgressToken) -> FileTask:
        """Queue a call; the future of its task has the result."""
        task = FileTask(path, call, progress)
        if self._lost:
            self._refuse_in_lost_domain(task)
        progress.last = time.monotonic()
        task.check_after(self.silence_s, self._expire_waiting)
        self._waiting[task] = None
        self._start_waiting()
        return task

    def _start_waiting(self) -> None:
        hanging = self._hanging_domains() if self._long or self._lost else ()
        for task in list(self._waiting):
            if len(self._running) >= self._threads:
                return
            if not hanging or task.domain not in hanging:
                del self._waiting[task]
                self._start(task)

    def _start(self, task: FileTask) -> None:
        self._running.add(task)
        task.progress.last = time.monotonic()
        task.check_after(self._long_s, self._check_progress)
        if self._idle:
            self._idle -= 1
            self._queue.put(task)
        else:
            loop = asyncio.get_running_loop()
            threading.Thread(target=self._work, args=(loop, task), name="file-work", daemon=True).start()

    def _work(self, loop: asyncio.AbstractEventLoop, task: FileTask | None) -> None:
        while task is not None:
            task.run()
            try:
                loop.call_soon_threadsafe(self._finished, task)
            except RuntimeError:
                return  # the server has stopped
            del task  # its result may be large, and the next task may come much later
            task = self._queue.get()

    def _finished(self, task: FileTask) -> None:
        if self._idle < self._threads:
            self._idle += 1
        else:
            self._queue.put(None)  # one thread too many, started in place of a long task
        if task in self._lost:
            self._lost.discard(task)
            logger.info("files.returned", path=task.path)
        else:
            self._running.discard(task)
            self._long.discard(task)
            task.resolve()
        task.returned()
        self._start_waiting()

    def _check_progress(self, task: FileTask) -> None:
        """Count a task as long, and as lost when it made no progress for the time limit."""
        if task in self._running and len(self._long) < LONG_AT_ONCE:
            self._running.discard(task)
            self._long.add(task)
        left = self.silence_s - task.silence_s
        if left > 0:
            task.check_after(left, self._check_progress)
        else:
            self._lose(task)
        self._start_waiting()

    def _lose(self, task: FileTask) -> None:
        self._running.discard(task)
        self._long.discard(task)
        self._lost.add(task)
        logger.warning("files.hang", path=task.path, hanging=len(self._lost))
        task.give_up(Timeout(f"no progress for {self.silence_s:g} s: {task.path}"))
        if self._lost_in(task.domain) >= HANGING_PER_DOMAIN:
            for other in [other for other in self._waiting if other.domain == task.domain]:
                del self._waiting[other]
                other.give_up(Timeout(f"the file system does not answer: {task.domain}"))
                other.returned()

    def _expire_waiting(self, task: FileTask) -> None:
        """No thread became free within the time limit."""
        del self._waiting[task]
        task.give_up(Timeout(f"too much file work for {self.silence_s:g} s: {task.path}"))
        task.returned()

    def _hanging_domains(self) -> set[str]:
        hanging = (task.domain for task in (*self._long, *self._lost) if task.silence_s >= self._long_s)
        return {domain for domain, number in Counter(hanging).items() if number >= HANGING_PER_DOMAIN}

    def _refuse_in_lost_domain(self, task: FileTask) -> None:
        if len(self._lost) >= MAX_LOST:
            raise Timeout(f"{MAX_LOST} file operations hang in the system")
        if self._lost_in(task.domain) >= HANGING_PER_DOMAIN:
            raise Timeout(f"the file system does not answer: {task.domain}")

    def _lost_in(self, domain: str) -> int:
        return sum(task.domain == domain for task in self._lost)


def _progress_argument(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgressToken:
    for value in (*args, *kwargs.values()):
        if isinstance(value, ProgressToken):
            return value
    return ProgressToken()
