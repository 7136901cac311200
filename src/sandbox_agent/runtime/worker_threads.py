"""Daemon threads for work that may block on a disk: at most 8, each started when all others are busy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_THREADS = 8

Outcome = Callable[[Any, BaseException | None], object]
_Work = tuple[Callable[[], Any], Outcome]


class WorkerThreads:
    def __init__(self) -> None:
        self._queue: SimpleQueue[_Work] = SimpleQueue()
        self._started = 0
        self._busy = 0
        """Jobs submitted and not finished. The submitting thread and the workers change it under the lock."""
        self._lock = threading.Lock()

    def submit(self, job: Callable[[], Any], done: Outcome) -> None:
        """Call `job` in a worker thread, then `done` in the same thread with the result or the exception."""
        self._queue.put((job, done))
        with self._lock:
            self._busy += 1
            wanted = self._busy > self._started and self._started < _THREADS
            self._started += wanted
        if wanted:
            threading.Thread(target=self._work, name="sandbox-agent-worker", daemon=True).start()

    def _work(self) -> None:
        while True:
            job, done = self._queue.get()
            try:
                result, error = job(), None
            except BaseException as raised:  # passed on to the submitter
                result, error = None, raised
            with self._lock:
                self._busy -= 1
            done(result, error)
            # Release large arguments now; the next job may come much later.
            del job, done, result, error
