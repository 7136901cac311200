"""Work in threads is done also where the system allows no thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from sandbox_agent.runtime.worker_threads import WorkerThreads


@pytest.mark.clause("security-H1")
def test_a_job_is_done_without_any_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    outcomes: list[tuple[Any, BaseException | None]] = []
    threads = WorkerThreads()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads.submit(lambda: 1, lambda *outcome: outcomes.append(outcome))
    assert outcomes == [(1, None)]


def test_a_job_is_left_to_the_threads_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = WorkerThreads()
    release, done = threading.Event(), threading.Semaphore(0)
    threads.submit(lambda: release.wait(10), lambda *_: done.release())

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    threads.submit(threading.get_ident, lambda *_: done.release())
    release.set()
    assert done.acquire(timeout=10) and done.acquire(timeout=10)
