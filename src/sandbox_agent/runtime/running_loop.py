"""The running event loop: the server's own (`Loop`), or asyncio's if another program runs the application.

The bridge uses `EventLoop`, which both implement. Code that needs asyncio itself (tasks, futures) is called
by `when_asyncio`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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


_server_loop: Loop | None = None


def set_server_loop(loop: Loop) -> None:
    """Set the loop of the server command; it applies to the thread of that loop."""
    global _server_loop
    _server_loop = loop


def running_loop() -> EventLoop:
    """The loop that runs on this thread. Raises RuntimeError if there is none."""
    if _server_loop is not None and _server_loop.is_running_here:
        return _server_loop
    import asyncio  # the program that runs the application has loaded it

    return asyncio.get_running_loop()


def in_thread(job: Callable[[], T], done: Callable[[T | None, BaseException | None], object]) -> None:
    """Call `job` in a worker thread, then `done` on the loop with its result or its exception."""
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


async def call_in_thread(job: Callable[[], T]) -> T:
    """The result of `job`, which is called in a worker thread."""
    import asyncio  # loaded on first use; callers run on asyncio

    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def done(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("T", result))

    in_thread(job, done)
    return await future


def when_asyncio(callback: Callable[[], object]) -> None:
    """Call `callback` on a running asyncio loop: now, or after the server has loaded asyncio."""
    loop = running_loop()
    if isinstance(loop, Loop):
        loop.when_asyncio(callback)
    else:
        callback()
