"""Threads for work that may wait for a disk: started when all others are busy, never ended."""

from __future__ import annotations

import _thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _queue import SimpleQueue
    from collections.abc import Callable
    from typing import Any

    Outcome = Callable[[Any, BaseException | None], object]
    _Work = tuple[Callable[[], Any], Outcome]

_THREADS = 8


class WorkerThreads:
    def __init__(self) -> None:
        self._queue: SimpleQueue[_Work] | None = None
        self._started = 0
        self._busy = 0
        """Work that was submitted and is not done: counted by the submitting thread and the workers alike."""
        self._lock = _thread.allocate_lock()

    def submit(self, job: Callable[[], Any], done: Outcome) -> None:
        """Call `job` in a thread, and there `done` with what came of it: its result, or what it raised."""
        if self._queue is None:
            from _queue import SimpleQueue

            self._queue = SimpleQueue()
        self._queue.put((job, done))
        with self._lock:
            self._busy += 1
            wanted = self._busy > self._started and self._started < _THREADS
            self._started += wanted
        if wanted:
            _thread.start_new_thread(self._work, (self._queue,))

    def _work(self, queue: SimpleQueue[_Work]) -> None:
        while True:
            job, done = queue.get()
            try:
                result, error = job(), None
            except BaseException as raised:  # it goes to whoever asked
                result, error = None, raised
            with self._lock:
                self._busy -= 1
            done(result, error)
            # What it was about may be large, and the next work may be long in coming.
            del job, done, result, error
