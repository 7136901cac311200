"""File work off the event loop: few threads, none of them hostage to a disk that does not answer.

Work that takes longer than a second no longer counts against the number of threads, so long and hung work
delay nobody. Work without any progress for the time limit (see `workspace.pulse`) is lost: its caller gets
`Timeout`, whatever its thread does. Where several pieces of work hang in one file system, the next ones there
wait their turn without a thread, and are refused at once when the first ones are lost.
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
from sandbox_agent.workspace.files.mounts import area_of
from sandbox_agent.workspace.files.progress_token import ProgressToken

THREADS = 16  # file work mostly waits for the disk; more would only queue there
LONG_S = 1.0
LONG_AT_ONCE = 256  # further long work counts as ordinary again
HANGING_PER_AREA = 4
LOST_AT_ALL = 512  # each costs a thread that hangs in the kernel

logger = logs.Log("sandbox_agent.files")

P = ParamSpec("P")
T = TypeVar("T")


class _Job:
    """One call on its way through a thread: waiting, running, long, and at last over or lost."""

    __slots__ = ("after", "area", "call", "error", "future", "path", "pulse", "result", "timer")

    def __init__(self, path: str, call: Callable[[], Any], pulse: ProgressToken) -> None:
        self.path = path
        self.area: str | None = None
        self.call = call
        self.pulse = pulse
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.timer: asyncio.TimerHandle | None = None
        self.result: Any = None
        self.error: BaseException | None = None
        self.after: Callable[[], None] | None = None

    def run(self) -> None:
        try:
            self.result = self.call()
        except BaseException as exc:  # goes to the one who waits
            self.error = exc

    def look_after(self, seconds: float, look: Callable[[_Job], None]) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(seconds, look, self)

    @property
    def silence_s(self) -> float:
        return time.monotonic() - self.pulse.last

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

    def __init__(self, *, silence_s: float = 60.0, threads: int = THREADS, long_s: float = LONG_S) -> None:
        self.silence_s = silence_s
        self._long_s = min(long_s, silence_s)
        self._threads = threads
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._idle = 0
        self._waiting: dict[_Job, None] = {}
        self._running: set[_Job] = set()
        self._long: set[_Job] = set()
        self._lost: set[_Job] = set()

    async def run(self, path: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function`, which works on `path`, in a thread; a `ProgressToken` argument reports progress.

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
        """Threads that hang although their callers have been answered."""
        return len(self._lost)

    def submit(self, path: str, call: Callable[[], Any], pulse: ProgressToken) -> _Job:
        """Put a call in line; its job's future has the result."""
        job = _Job(path, call, pulse)
        if self._lost:
            self._refuse_where_others_were_lost(job)
        pulse.last = time.monotonic()
        job.look_after(self.silence_s, self._leave_line)
        self._waiting[job] = None
        self._start_waiting()
        return job

    def _start_waiting(self) -> None:
        hanging = self._hanging_areas() if self._long or self._lost else ()
        for job in list(self._waiting):
            if len(self._running) >= self._threads:
                return
            if not hanging or _area(job) not in hanging:
                del self._waiting[job]
                self._start(job)

    def _start(self, job: _Job) -> None:
        self._running.add(job)
        job.pulse.last = time.monotonic()
        job.look_after(self._long_s, self._look_at)
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
        if self._idle < self._threads:
            self._idle += 1
        else:
            self._queue.put(None)  # one thread more than needed, since long work was replaced
        if job in self._lost:
            self._lost.discard(job)
            logger.info("files.returned", path=job.path)
        else:
            self._running.discard(job)
            self._long.discard(job)
            job.settle()
        _call(job.after)
        self._start_waiting()

    def _look_at(self, job: _Job) -> None:
        """It has been running for a while: let others go on, and see whether it still gets ahead."""
        if job in self._running and len(self._long) < LONG_AT_ONCE:
            self._running.discard(job)
            self._long.add(job)
        left = self.silence_s - job.silence_s
        if left > 0:
            job.look_after(left, self._look_at)
        else:
            self._lose(job)
        self._start_waiting()

    def _lose(self, job: _Job) -> None:
        self._running.discard(job)
        self._long.discard(job)
        self._lost.add(job)
        logger.warning("files.hang", path=job.path, hanging=len(self._lost))
        self._give_up(job, f"no progress for {self.silence_s:g} s: {job.path}")
        if sum(_area(other) == _area(job) for other in self._lost) >= HANGING_PER_AREA:
            for other in [other for other in self._waiting if _area(other) == _area(job)]:
                del self._waiting[other]
                self._give_up(other, f"the file system does not answer: {_area(job)}")
                _call(other.after)

    def _leave_line(self, job: _Job) -> None:
        """No thread came free in all the time."""
        del self._waiting[job]
        self._give_up(job, f"too much file work for {self.silence_s:g} s: {job.path}")
        _call(job.after)

    def _give_up(self, job: _Job, message: str) -> None:
        job.pulse.abandon()
        job.error = Timeout(message)
        job.settle()

    def _hanging_areas(self) -> set[str]:
        areas = Counter(_area(job) for job in (*self._long, *self._lost) if job.silence_s >= self._long_s)
        return {area for area, number in areas.items() if number >= HANGING_PER_AREA}

    def _refuse_where_others_were_lost(self, job: _Job) -> None:
        if len(self._lost) >= LOST_AT_ALL:
            raise Timeout(f"{LOST_AT_ALL} file operations hang in the system")
        if sum(_area(other) == _area(job) for other in self._lost) >= HANGING_PER_AREA:
            raise Timeout(f"the file system does not answer: {_area(job)}")


def _area(job: _Job) -> str:
    if job.area is None:
        job.area = area_of(job.path)
    return job.area


def _call(after: Callable[[], None] | None) -> None:
    if after is not None:
        after()


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
                job = self._work.submit(self._path, cleanup, ProgressToken())
            except Timeout:
                threading.Thread(target=cleanup, name="file-cleanup", daemon=True).start()
                return
            job.future.add_done_callback(_log_failure)


def _log_failure(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is not None:
        logger.warning("files.cleanup_failed", error=str(future.exception()))


def _pulse_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ProgressToken:
    for value in (*args, *kwargs.values()):
        if isinstance(value, ProgressToken):
            return value
    return ProgressToken()
