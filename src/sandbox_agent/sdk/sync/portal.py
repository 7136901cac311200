"""An event loop in a thread of its own, and calls into it from other threads.

Any thread may call and waits for the result; interrupting the wait cancels the work. A call from the
loop's own thread would deadlock and raises `RuntimeError`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
_END: Any = object()
# A cancelled step leaves its iterator after a few iterations of the loop.
_SETTLING_ROUNDS = 100


class Portal:
    """Runs coroutines on a private event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="sandbox-agent", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether the loop has ended."""
        return self._loop.is_closed()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a sync method was called on the client's own loop; use the async client there"
            )
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("the client is closed")
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[[], T]) -> T:
        """Call a function on the loop and wait for its result."""

        async def work() -> T:
            return function()

        return self.run(work())

    def iterate(self, source: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
        """Read an asynchronous iterator from the calling thread."""
        iterator = self.call(source)
        try:
            while (item := self.run(_next(iterator))) is not _END:
                yield item
        finally:
            close: Callable[[], Awaitable[None]] | None = getattr(iterator, "aclose", None)
            if close is not None and not self._loop.is_closed():
                self.run(_finish(close))

    @contextmanager
    def context(self, make: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
        """Enter an asynchronous context manager from the calling thread."""
        manager = self.call(make)
        value = self.run(_enter(manager))
        try:
            yield value
        finally:
            self.run(_leave(manager))

    def close(self) -> None:
        """Cancel all tasks of the loop and end its thread."""
        if self._loop.is_closed() or threading.current_thread() is self._thread:
            return
        self.run(_cancel_rest())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()


async def _enter(manager: AbstractAsyncContextManager[T]) -> T:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any]) -> None:
    await manager.__aexit__(None, None, None)


async def _next(iterator: AsyncIterator[T]) -> T:
    return await anext(iterator, _END)


async def _finish(close: Callable[[], Awaitable[None]]) -> None:
    """Close an iterator; one whose last step was interrupted may need a few iterations of the loop."""
    for _ in range(_SETTLING_ROUNDS):
        try:
            return await close()
        except RuntimeError:
            await asyncio.sleep(0)
    await close()


async def _cancel_rest() -> None:
    loop = asyncio.get_running_loop()
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=5.0)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
