"""An event loop in a thread of its own, and calls into it from other threads.

Any thread may call and waits for the result; interrupting the wait cancels the work. A call from the
loop's own thread would deadlock and raises `RuntimeError`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Generic, TypeVar

from sandbox_agent.sdk.errors import ClientClosedError

T = TypeVar("T")
# Items that are read before they are asked for.
_AHEAD = 64
# A cancelled step leaves its iterator after a few iterations of the loop.
_SETTLING_ROUNDS = 100


class Portal:
    """Runs coroutines on a private event loop."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._closing = False
        self._closing_readers: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._serve, name="sandbox-agent", daemon=True)
        self._thread.start()

    @property
    def closed(self) -> bool:
        """Whether the loop has ended; a forked child has none."""
        return self._loop.is_closed() or os.getpid() != self._pid

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and wait for its result."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "a sync method was called on the client's own loop; use the async client there"
            )
        if self.closed:
            work.close()
            raise ClientClosedError(
                "the client is closed"
                if os.getpid() == self._pid
                else "this client belongs to the parent process; make another one after the fork"
            )
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except CancelledError as error:
            if self._closing:
                raise ClientClosedError("the client was closed meanwhile") from error
            raise
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
        reader: _ReadAhead[T] = self.call(lambda: _ReadAhead(source()))
        try:
            while batch := self.run(reader.take()):
                yield from batch
        finally:
            self._release(reader)

    def _release(self, reader: _ReadAhead[Any]) -> None:
        """Close a reader; the garbage collector may free an abandoned one on the loop's own thread."""
        if self.closed:
            return
        if threading.current_thread() is self._thread:
            task = self._loop.create_task(reader.close())
            self._closing_readers.add(task)
            task.add_done_callback(self._closing_readers.discard)
        else:
            self.run(reader.close())

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
        if self.closed or threading.current_thread() is self._thread:
            return
        self.run(_settle_readers())
        self._closing = True
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


class _ReadAhead(Generic[T]):
    """Reads an iterator on the loop, up to `_AHEAD` items ahead, so that one call brings many of them.

    A call into the loop takes 70 µs, more than an event of a turn costs otherwise.
    """

    def __init__(self, iterator: AsyncIterator[T]) -> None:
        self._iterator = iterator
        self._items: list[T] = []
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()
        self._error: Exception | None = None
        """What the iterator raised; kept until it is taken, which may be never."""
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def take(self) -> list[T]:
        """The next items, at least one; empty at the end. Raises what the iterator raised after its items."""
        while not self._items:
            if self._task.done():
                if self._error is not None:
                    raise self._error
                return []
            self._changed.clear()
            await self._changed.wait()
        items, self._items = self._items, []
        self._taken.set()
        return items

    async def close(self) -> None:
        """Stop reading and close the iterator."""
        self._task.cancel()
        await asyncio.wait([self._task])
        close: Callable[[], Awaitable[None]] | None = getattr(self._iterator, "aclose", None)
        if close is not None:
            await _finish(close)

    async def _read(self) -> None:
        try:
            async for item in self._iterator:
                self._items.append(item)
                self._changed.set()
                while len(self._items) >= _AHEAD:
                    self._taken.clear()
                    await self._taken.wait()
        except Exception as error:
            self._error = error
        finally:
            self._changed.set()


async def _finish(close: Callable[[], Awaitable[None]]) -> None:
    """Close an iterator; one whose last step was interrupted may need a few iterations of the loop."""
    for _ in range(_SETTLING_ROUNDS):
        try:
            return await close()
        except RuntimeError:
            await asyncio.sleep(0)
    await close()


async def _settle_readers() -> None:
    """Let readers of sessions that have just ended finish by themselves."""
    for _ in range(_SETTLING_ROUNDS):
        await asyncio.sleep(0)


async def _cancel_rest() -> None:
    loop = asyncio.get_running_loop()
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=5.0)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
