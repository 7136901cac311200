"""File work off the event loop: a bounded number of threads, and a time limit that always has an answer.

The limit measures silence (see `workspace.pulse`). Work that exceeds it is lost: its caller gets `Timeout`,
its thread no longer counts, and others go on, so a hung mount never uses up the threads. When several pieces
of work hang in the same file system, further ones there are refused at once instead of hanging too. A `Lane`
runs the steps of one upload or download one after the other and cleans up after the last, also a late one.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from sandbox_agent.errors import Timeout
from sandbox_agent.workspace.mounts import area_of
from sandbox_agent.workspace.pulse import Pulse

THREADS = 16  # file work mostly waits for the disk; more would only queue there
LOST_PER_AREA = 4
LOST_AT_ALL = 512  # each costs a thread that hangs in the kernel

logger = logging.getLogger("sandbox_agent.files")

P = ParamSpec("P")
T = TypeVar("T")


class _Job:
    """One call on its way through a thread."""

    __slots__ = ("after", "call", "error", "future", "is_lost", "path", "pulse", "result", "timer")

    def __init__(self, path: str, call: Callable[[], Any], pulse: Pulse) -> None:
        self.path = path
        self.call = call
        self.pulse = pulse
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.timer: asyncio.TimerHandle | None = None
        self.is_lost = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.after: Callable[[], None] | None = None

    def run(self) -> None:
        try:
            self.result = self.call()
        except BaseException as exc:  # goes to the one who waits
            self.error = exc

    def settle(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.future.done():
            return  # the waiter was cancelled
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class FileWork:
    """The threads of one server. All methods belong to the event loop's thread."""

    def __init__(self, *, silence_s: float = 60.0, threads: int = THREADS) -> None:
        self.silence_s = silence_s
        self._threads = threads
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting: deque[_Job] = deque()
        self._active = 0
        self._idle = 0
        self._lost: list[_Job] = []

    async def run(self, path: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function`, which works on `path`, in a thread; a `Pulse` among its arguments tells progress.

        Raises:
            Timeout: it went without progress for too long, or its file system is known to hang.
        """
        result: T = await self.submit(path, lambda: function(*args, **kwargs), _pulse_of(args, kwargs)).future
        return result

    def lane(self, path: str) -> Lane:
        """A sequence of steps on one thing."""
        return Lane(self, path)

    def close(self) -> None:
        """Let idle threads end; those that are busy end with the process."""
        for _ in range(self._idle):
            self._queue.put(None)
        self._idle = 0

    @property
    def lost(self) -> int:
        """Threads that hang at the moment."""
        return len(self._lost)

    def submit(self, path: str, call: Callable[[], Any], pulse: Pulse) -> _Job:
        """Put a call in line; its job's future has the result."""
        self._refuse_where_others_hang(path)
        job = _Job(path, call, pulse)
        pulse.last = time.monotonic()
        job.timer = asyncio.get_running_loop().call_later(self.silence_s, self._look_at, job)
        self._waiting.append(job)
        self._start_waiting()
        return job

    def _start_waiting(self) -> None:
        while self._waiting and self._active < self._threads:
            job = self._waiting.popleft()
            self._active += 1
            job.pulse.last = time.monotonic()
            if self._idle:
                self._idle -= 1
                self._queue.put(job)
            else:
                loop = asyncio.get_running_loop()
                threading.Thread(target=self._work, args=(loop, job), name="file-work", daemon=True).start()

    def _work(self, loop: asyncio.AbstractEventLoop, job: _Job | None) -> None:
        while job is not None:
            job.run()
            try:
                loop.call_soon_threadsafe(self._finished, job)
            except RuntimeError:
                return  # the server has stopped
            del job  # its result may be large, and the next job may be long in coming
            job = self._queue.get()

    def _finished(self, job: _Job) -> None:
        self._idle += 1
        if job.is_lost:
            self._lost.remove(job)
            logger.info("files.returned", extra={"fields": {"path": job.path}})
            if self._idle > self._threads:  # it was replaced while it hung
                self._idle -= 1
                self._queue.put(None)
        else:
            self._active -= 1
            job.settle()
        if job.after is not None:
            job.after()
        self._start_waiting()

    def _look_at(self, job: _Job) -> None:
        """Its time may be over, unless it got ahead meanwhile."""
        left = job.pulse.last + self.silence_s - time.monotonic()
        if left > 0:
            job.timer = asyncio.get_running_loop().call_later(left, self._look_at, job)
            return
        job.pulse.abandon()
        job.error = Timeout(f"no progress for {self.silence_s:g} s: {job.path}")
        try:
            self._waiting.remove(job)  # never began: the threads were all busy
        except ValueError:
            job.is_lost = True
            self._lost.append(job)
            self._active -= 1
            logger.warning("files.hang", extra={"fields": {"path": job.path, "hanging": len(self._lost)}})
        job.settle()
        if not job.is_lost and job.after is not None:
            job.after()
        self._start_waiting()

    def _refuse_where_others_hang(self, path: str) -> None:
        if not self._lost:
            return
        if len(self._lost) >= LOST_AT_ALL:
            raise Timeout(f"{LOST_AT_ALL} file operations hang in the system")
        area = area_of(path)
        if sum(area_of(job.path) == area for job in self._lost) >= LOST_PER_AREA:
            raise Timeout(f"the file system does not answer: {area}")


class Lane:
    """Steps that never overlap. After `close` the cleanup runs as the last step, once the others are over.

    A step that is lost stays the current one until its thread returns; only then is the cleanup run.
    """

    def __init__(self, work: FileWork, path: str) -> None:
        self._work = work
        self._path = path
        self._current: _Job | None = None
        self._cleanup: Callable[[], None] | None = None

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """One step, as `FileWork.run`."""
        job = self._work.submit(self._path, lambda: function(*args, **kwargs), _pulse_of(args, kwargs))
        self._current = job
        job.after = self._step_over
        result: T = await job.future
        return result

    def close(self, cleanup: Callable[[], None]) -> None:
        """No further step comes. Returns at once."""
        self._cleanup = cleanup
        if self._current is None:
            self._start_cleanup()

    def _step_over(self) -> None:
        self._current = None
        if self._cleanup is not None:
            self._start_cleanup()

    def _start_cleanup(self) -> None:
        cleanup, self._cleanup = self._cleanup, None
        if cleanup is not None:
            try:
                job = self._work.submit(self._path, cleanup, Pulse())
            except Timeout:
                threading.Thread(target=cleanup, name="file-cleanup", daemon=True).start()
                return
            job.future.add_done_callback(_log_failure)


def _log_failure(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        logger.warning("files.cleanup_failed", extra={"fields": {"error": str(future.exception())}})


def _pulse_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pulse:
    for value in (*args, *kwargs.values()):
        if isinstance(value, Pulse):
            return value
    return Pulse()
