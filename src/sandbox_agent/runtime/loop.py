"""The server's event loop: epoll, timers, worker threads and signals.

asyncio takes 40 ms to load and creates a handle for every ready descriptor; messages and event streams need
neither. The server runs on this loop, and code that is written for asyncio runs on an asyncio loop that is
hosted by it. `when_asyncio` loads that loop on first use.

Methods that the bridge uses have the names and meanings of asyncio, so the bridge runs on either loop.
Callbacks run one after the other on the thread that created the loop; an exception in one is logged. Nothing
but `stop` ends the loop.
"""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.runtime.busy_poll import BusyPoll
from sandbox_agent.runtime.descriptors import DescriptorReserve, ran_out
from sandbox_agent.runtime.worker_threads import WorkerThreads

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from sandbox_agent.runtime.hosted_asyncio import HostedAsyncio

    T = TypeVar("T")

logger = logs.Log("sandbox_agent.loop")

# The most descriptors that one poll reports; with more of them ready the kernel rotates.
_MAX_EVENTS = 512
# Cancelled timers stay in the heap until they are due; a larger heap is searched for them.
_MIN_SWEPT_TIMERS = 256
_READ, _WRITE = select.EPOLLIN, select.EPOLLOUT
_NOT_READ, _NOT_WRITE = ~_READ, ~_WRITE
# After a failure of the loop itself, which may last, such as a lack of memory.
_PAUSE_AFTER_FAILURE_S = 0.05
_REFILL_RESERVE_S = 0.5


class LoopTimer:
    """A scheduled call that can be cancelled."""

    __slots__ = ("_when", "arguments", "callback")

    def __init__(self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._when = when
        self.callback: Callable[..., object] | None = callback
        self.arguments = arguments

    def __lt__(self, other: LoopTimer) -> bool:
        return self._when < other._when

    def when(self) -> float:
        return self._when

    def cancel(self) -> None:
        self.callback = None
        self.arguments = ()

    def call(self) -> None:
        if self.callback is not None:
            self.callback(*self.arguments)


class Loop:
    def __init__(self, busy_poll_s: float = 0.0, reserved_descriptors: int = 0) -> None:
        """`busy_poll_s` is how long the loop polls before it sleeps; 0 for not at all (see `BusyPoll`)."""
        self._reserve = DescriptorReserve(reserved_descriptors)
        self._refill_timer: LoopTimer | None = None
        self._epoll = select.epoll()
        self._busy_poll = BusyPoll(self._epoll, busy_poll_s) if busy_poll_s else None
        self._readers: dict[int, Callable[[], object]] = {}
        self._writers: dict[int, Callable[[], object]] = {}
        self._soon: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._timers: list[LoopTimer] = []
        self._sweep_timers_at = _MIN_SWEPT_TIMERS
        self._threads = WorkerThreads()
        self._thread_id = threading.get_ident()
        self._stopping = False
        self._hosted: HostedAsyncio | None = None
        # Signals and other threads write to this pipe to end a sleeping poll.
        self._wake_read_end, self._wake_write_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.add_reader(self._wake_read_end, self._drain_wake_pipe)

    # ---- running -----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until `stop`."""
        signal.set_wakeup_fd(self._wake_write_end, warn_on_full_buffer=False)
        while not self._stopping:
            try:
                if self._hosted is not None:
                    self._hosted.run_forever()
                else:
                    self.turn(None)
            except Exception:
                logger.exception("loop.failed")
                time.sleep(_PAUSE_AFTER_FAILURE_S)

    def stop(self) -> None:
        self._stopping = True
        if self._hosted is not None:
            self._hosted.stop()

    @property
    def is_running_here(self) -> bool:
        return self._thread_id == threading.get_ident()

    def turn(self, limit_s: float | None) -> None:
        """One turn: wait for events, at most `limit_s`, and run their callbacks."""
        soon, timers = self._soon, self._timers
        timeout = -1.0 if limit_s is None else limit_s
        now = time.monotonic()
        if timers:
            if timers[0]._when <= now or timers[0].callback is None:
                self._queue_due_timers(now)
            if timers:
                left = timers[0]._when - now
                timeout = left if limit_s is None or left < limit_s else limit_s
        if soon:
            timeout = 0.0
        readers, writers = self._readers, self._writers
        ready = self._busy_poll.poll(now) if timeout and self._busy_poll else None
        ready = ready or self._epoll.poll(timeout, _MAX_EVENTS)
        for fd, event in ready:
            try:
                if event & _NOT_WRITE and (callback := readers.get(fd)) is not None:
                    callback()
                if event & _NOT_READ and (callback := writers.get(fd)) is not None:
                    callback()
            except Exception:  # an error in one callback must not stop the others
                logger.exception("loop.callback_failed")
        for _ in range(len(soon)):
            call, arguments = soon.popleft()
            try:
                call(*arguments)
            except Exception:  # as above
                logger.exception("loop.callback_failed")

    def _queue_due_timers(self, now: float) -> None:
        """Queue due timers for this turn; one that is cancelled before its call is not called."""
        timers = self._timers
        while timers and (timers[0]._when <= now or timers[0].callback is None):
            timer = heappop(timers)
            if timer.callback is not None:
                self._soon.append((timer.call, ()))

    # ---- methods of asyncio ------------------------------------------------------------------------------

    time = staticmethod(time.monotonic)

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        self._soon.append((callback, arguments))

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: Any) -> None:
        self._soon.append((callback, arguments))
        try:
            os.write(self._wake_write_end, b"\0")
        except BlockingIOError:
            pass  # The pipe is full, so the poll returns anyway.

    def call_later(self, delay: float, callback: Callable[..., object], *arguments: Any) -> LoopTimer:
        return self.call_at(time.monotonic() + delay, callback, *arguments)

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> LoopTimer:
        timer = LoopTimer(when, callback, arguments)
        heappush(self._timers, timer)
        if len(self._timers) > self._sweep_timers_at:
            self._sweep_timers()
        return timer

    def _sweep_timers(self) -> None:
        self._timers[:] = [timer for timer in self._timers if timer.callback is not None]
        heapify(self._timers)
        self._sweep_timers_at = max(_MIN_SWEPT_TIMERS, 2 * len(self._timers))

    def add_reader(self, fd: int, callback: Callable[[], object]) -> None:
        is_new = fd not in self._readers
        self._readers[fd] = callback
        if is_new:
            self._watch(fd, _WRITE if fd in self._writers else 0, _READ)

    def add_writer(self, fd: int, callback: Callable[[], object]) -> None:
        is_new = fd not in self._writers
        self._writers[fd] = callback
        if is_new:
            self._watch(fd, _READ if fd in self._readers else 0, _WRITE)

    def _watch(self, fd: int, before: int, more: int) -> None:
        if before:
            self._epoll.modify(fd, before | more)
        else:
            self._epoll.register(fd, more)

    def remove_reader(self, fd: int) -> bool:
        return self._readers.pop(fd, None) is not None and self._unwatch(fd, self._writers, _WRITE)

    def remove_writer(self, fd: int) -> bool:
        return self._writers.pop(fd, None) is not None and self._unwatch(fd, self._readers, _READ)

    def _unwatch(self, fd: int, others: dict[int, Callable[[], object]], left: int) -> bool:
        if fd in others:
            self._epoll.modify(fd, left)
        else:
            self._epoll.unregister(fd)
        return True

    # ---- signals, threads, asyncio -----------------------------------------------------------------------

    def on_signal(self, number: int, callback: Callable[[], object]) -> None:
        signal.signal(number, lambda *_: self._soon.append((callback, ())))

    def _drain_wake_pipe(self) -> None:
        try:
            os.read(self._wake_read_end, 4096)
        except BlockingIOError:
            pass

    def in_thread(
        self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], object]
    ) -> None:
        """Call `job` in a worker thread, then `done` on the loop with its result or its exception."""
        self._threads.submit(job, lambda *outcome: self.call_soon_threadsafe(done, *outcome))

    def when_asyncio(self, callback: Callable[[], object]) -> None:
        """Call `callback` while the hosted asyncio loop runs: now, or after it has been loaded."""
        if self._hosted is not None and self._hosted.is_running():
            callback()
            return
        if self._hosted is None:
            try:
                self._hosted = self._new_asyncio()
            except (OSError, ImportError) as error:
                if not ran_out(error) or not self.release_reserve():
                    raise
                self._hosted = self._new_asyncio()
        self._hosted.call_soon(callback)

    def _new_asyncio(self) -> HostedAsyncio:
        from sandbox_agent.runtime.hosted_asyncio import HostedAsyncio

        return HostedAsyncio(self)

    # ---- descriptors -------------------------------------------------------------------------------------

    def release_reserve(self) -> bool:
        """Make a few descriptors available for half a second; false if none is in reserve."""
        if not self._reserve.release():
            return False
        if self._refill_timer is None:
            self._refill_timer = self.call_later(_REFILL_RESERVE_S, self.refill_reserve)
        return True

    def refill_reserve(self) -> None:
        """Open the reserved descriptors again. While some cannot be opened, a timer repeats the call."""
        if self._refill_timer is not None:
            self._refill_timer.cancel()
        is_full = self._reserve.refill()
        self._refill_timer = None if is_full else self.call_later(_REFILL_RESERVE_S, self.refill_reserve)
