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
            try:
                threading.Thread(target=self._work, name="sandbox-agent-worker", daemon=True).start()
            except RuntimeError:
                self._without_thread()

    def _without_thread(self) -> None:
        """The system has no memory for a thread, or allows no more: others do the job, or this one."""
        with self._lock:
            self._started -= 1
            has_workers = self._started > 0
        if not has_workers:
            self._work_once()

    def _work(self) -> None:
        while True:
            self._work_once()

    def _work_once(self) -> None:
        # Large arguments are released with the return; the next job may come much later.
        job, done = self._queue.get()
        try:
            result, error = job(), None
        except BaseException as raised:  # passed on to the submitter
            result, error = None, raised
        with self._lock:
            self._busy -= 1
        done(result, error)
