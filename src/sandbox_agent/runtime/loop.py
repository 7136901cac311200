"""The server's own event loop: epoll, timers and threads, and nothing that has to be loaded first.

asyncio costs more time to import than everything else in this server and a handle for everything that is
ready; most servers answer thousands of messages without needing it. So the server runs on this loop, and what
is written for asyncio gets it as a guest, from the first time on that somebody asks (`when_asyncio`).

The methods that the bridge uses have the names and meanings of asyncio's, so that the bridge runs on either.
Callbacks run one after the other on the thread that made the loop; one that fails is logged.
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
from sandbox_agent.runtime.worker_threads import WorkerThreads

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from sandbox_agent.runtime.hosted_asyncio import HostedAsyncio

    T = TypeVar("T")

logger = logs.Log("sandbox_agent.loop")

# What one poll may report; with more ready than that the kernel takes turns.
_MAX_EVENTS = 512
# Cancelled timers stay in line until they are due; beyond this number they are looked for.
_FEW_TIMERS = 256
_READ, _WRITE = select.EPOLLIN, select.EPOLLOUT
_NOT_READ, _NOT_WRITE = ~_READ, ~_WRITE


class Timer:
    """A call that is due at some time, unless it is cancelled."""

    __slots__ = ("_when", "arguments", "callback")

    def __init__(self, when: float, callback: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        self._when = when
        self.callback: Callable[..., object] | None = callback
        self.arguments = arguments

    def __lt__(self, other: Timer) -> bool:
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
    def __init__(self, awake_s: float = 0.0) -> None:
        """`awake_s` is how long it stays awake in a conversation (`vigil.py`)."""
        self._epoll = select.epoll()
        self._vigil = BusyPoll(self._epoll, awake_s) if awake_s else None
        self._readers: dict[int, Callable[[], object]] = {}
        self._writers: dict[int, Callable[[], object]] = {}
        self._soon: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()
        self._timers: list[Timer] = []
        self._sweep_timers_at = _FEW_TIMERS
        self._threads = WorkerThreads()
        self.has_more = True
        """Whether other descriptors are ready in this turn: what waits for them can be done with them."""
        self._thread_id = threading.get_ident()
        self._stopping = False
        self._guest: HostedAsyncio | None = None
        # Written to by signals and by other threads, so that a sleeping poll returns.
        self._wake_end, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.add_reader(self._wake_end, self._woken)

    # ---- running -----------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run until `stop`."""
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        while not self._stopping:
            if self._guest is not None:
                self._guest.run_forever()
            else:
                self.turn(None)

    def stop(self) -> None:
        self._stopping = True
        if self._guest is not None:
            self._guest.stop()

    @property
    def is_running_here(self) -> bool:
        return self._thread_id == threading.get_ident()

    def turn(self, limit_s: float | None) -> None:
        """Wait for something to happen, at most for so long, and call whoever waits for it."""
        soon, timers = self._soon, self._timers
        timeout = -1.0 if limit_s is None else limit_s
        now = time.monotonic()
        if timers:
            if timers[0]._when <= now or timers[0].callback is None:
                self._line_up_due(now)
            if timers:
                left = timers[0]._when - now
                timeout = left if limit_s is None or left < limit_s else limit_s
        if soon:
            timeout = 0.0
        readers, writers = self._readers, self._writers
        # Who sleeps is woken right here: what there is to be done for it has been done before.
        awake = self._vigil.keep(now) if timeout and self._vigil else None
        ready = awake or self._epoll.poll(timeout, _MAX_EVENTS)
        self.has_more = len(ready) > 1
        for fd, event in ready:
            try:
                if event & _NOT_WRITE and (callback := readers.get(fd)) is not None:
                    callback()
                if event & _NOT_READ and (callback := writers.get(fd)) is not None:
                    callback()
            except Exception:  # a fault of one is told, and nobody else's
                logger.exception("loop.callback_failed")
        for _ in range(len(soon)):
            call, arguments = soon.popleft()
            try:
                call(*arguments)
            except Exception:  # as above
                logger.exception("loop.callback_failed")

    def _line_up_due(self, now: float) -> None:
        """Timers that are due are called in this turn, unless they are cancelled before it comes to that."""
        timers = self._timers
        while timers and (timers[0]._when <= now or timers[0].callback is None):
            timer = heappop(timers)
            if timer.callback is not None:
                self._soon.append((timer.call, ()))

    # ---- asyncio's names ---------------------------------------------------------------------------------

    time = staticmethod(time.monotonic)

    def call_soon(self, callback: Callable[..., object], *arguments: Any) -> None:
        self._soon.append((callback, arguments))

    def call_soon_threadsafe(self, callback: Callable[..., object], *arguments: Any) -> None:
        self._soon.append((callback, arguments))
        try:
            os.write(self._waker, b"\0")
        except BlockingIOError:
            pass  # Full of calls to wake up.

    def call_later(self, delay: float, callback: Callable[..., object], *arguments: Any) -> Timer:
        return self.call_at(time.monotonic() + delay, callback, *arguments)

    def call_at(self, when: float, callback: Callable[..., object], *arguments: Any) -> Timer:
        timer = Timer(when, callback, arguments)
        heappush(self._timers, timer)
        if len(self._timers) > self._sweep_timers_at:
            self._sweep_timers()
        return timer

    def _sweep_timers(self) -> None:
        self._timers[:] = [timer for timer in self._timers if timer.callback is not None]
        heapify(self._timers)
        self._sweep_timers_at = max(_FEW_TIMERS, 2 * len(self._timers))

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

    def _woken(self) -> None:
        try:
            os.read(self._wake_end, 4096)
        except BlockingIOError:
            pass

    def in_thread(
        self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], object]
    ) -> None:
        """Call `job` in a worker thread, then `done` here with its result or what it raised."""
        self._threads.submit(job, lambda *outcome: self.call_soon_threadsafe(done, *outcome))

    def when_asyncio(self, callback: Callable[[], object]) -> None:
        """Call now, or in a moment when asyncio has been loaded; there is a running asyncio loop then."""
        if self._guest is not None and self._guest.is_running():
            callback()
            return
        if self._guest is None:
            from sandbox_agent.runtime.hosted_asyncio import HostedAsyncio

            self._guest = HostedAsyncio(self)
        self._guest.call_soon(callback)
