"""Which event loop this is: the server's own (`Loop`), or asyncio's when the application runs inside another.

The bridge is written against `EventLoop`, what both have in common. Code that needs asyncio itself (tasks,
futures) is called by `when_asyncio`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.runtime.loop import Loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar

    T = TypeVar("T")

    class Timer(Protocol):
        def cancel(self) -> None: ...

        def when(self) -> float: ...

    class EventLoop(Protocol):
        def time(self) -> float: ...

        def call_soon(self, callback: Callable[..., object], *args: Any) -> object: ...

        def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Timer: ...

        def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Timer: ...

        def add_reader(self, fd: int, callback: Callable[[], object]) -> None: ...

        def add_writer(self, fd: int, callback: Callable[[], object]) -> None: ...

        def remove_reader(self, fd: int) -> bool: ...

        def remove_writer(self, fd: int) -> bool: ...


_own: Loop | None = None


def set_own(loop: Loop) -> None:
    """Say that this process is a server that runs on `loop`."""
    global _own
    _own = loop


def running_loop() -> EventLoop:
    """The loop that runs on this thread. Raises RuntimeError when there is none."""
    if _own is not None and _own.is_running_here:
        return _own
    import asyncio  # whoever runs us inside an asyncio loop has loaded it

    return asyncio.get_running_loop()


def in_thread(job: Callable[[], T], done: Callable[[T | None, BaseException | None], object]) -> None:
    """Call `job` in a worker thread, then `done` on the loop with its result or what it raised."""
    loop = running_loop()
    if isinstance(loop, Loop):
        loop.in_thread(job, done)
        return
    import asyncio

    def finished(future: asyncio.Future[T]) -> None:
        if not future.cancelled():
            error = future.exception()
            done(future.result() if error is None else None, error)

    asyncio.get_running_loop().run_in_executor(None, job).add_done_callback(finished)


def when_asyncio(callback: Callable[[], object]) -> None:
    """Call now, or in a moment on a server that has not loaded asyncio yet."""
    loop = running_loop()
    if isinstance(loop, Loop):
        loop.when_asyncio(callback)
    else:
        callback()
