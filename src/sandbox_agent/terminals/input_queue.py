"""The queue of input for a process: written in order, without blocking; a caller can withdraw its part."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from typing import TYPE_CHECKING

from sandbox_agent.errors import Conflict

if TYPE_CHECKING:
    from sandbox_agent.runtime.running_loop import EventLoop

# Writers that do not wait for their own bytes wait while more than this is queued.
_FULL_BYTES = 1024 * 1024


class _Pending:
    __slots__ = ("data", "done")

    def __init__(self, data: bytes, done: asyncio.Future[None] | None) -> None:
        self.data = memoryview(data)
        self.done = done


class InputQueue:
    def __init__(self, loop: EventLoop, fd: int) -> None:
        """`fd` is non-blocking and belongs to the queue."""
        self._loop = loop
        self._fd = fd
        self._pending: deque[_Pending] = deque()
        self._room: list[asyncio.Future[None]] = []
        self._queued_bytes = 0
        self._watching = False
        self._closes_when_written = False
        self._why_closed = "the input of the process is closed"

    async def write(self, data: bytes) -> None:
        """Return when all of `data` has been written; a caller that is cancelled takes the rest back.

        Raises Conflict if the process, or a client, has closed the input.
        """
        done = asyncio.get_running_loop().create_future()
        pending = self._put(data, done)
        try:
            await done
        except asyncio.CancelledError:
            self._withdraw(pending)
            raise

    def put(self, data: bytes) -> None:
        """Queue `data` without waiting. Raises Conflict."""
        self._put(data, None)

    @property
    def is_full(self) -> bool:
        return self._queued_bytes > _FULL_BYTES

    async def room(self, limit_s: float) -> bool:
        """Wait until the queue is not full; false if it still is after `limit_s`."""
        if self.is_full and self._fd >= 0:
            waiter = asyncio.get_running_loop().create_future()
            self._room.append(waiter)
            await asyncio.wait([waiter], timeout=limit_s)
        return not self.is_full

    def _put(self, data: bytes, done: asyncio.Future[None] | None) -> _Pending:
        if self._fd < 0 or self._closes_when_written:
            raise Conflict(self._why_closed)
        pending = _Pending(data, done)
        self._pending.append(pending)
        self._queued_bytes += len(data)
        if not self._watching:
            self._write()
        return pending

    def close_when_written(self) -> None:
        """The end of the input follows what is queued."""
        self._closes_when_written = True
        if not self._watching:
            self._write()

    def _write(self) -> None:
        """Write what the process takes; called again when it takes more."""
        while self._pending and self._fd >= 0:
            first = self._pending[0]
            try:
                written = os.write(self._fd, first.data) if first.data else 0
            except BlockingIOError:
                self._watch()
                return
            except OSError:
                self.close("the process has closed its input")
                return
            self._queued_bytes -= written
            first.data = first.data[written:]
            if not first.data:
                self._pending.popleft()
                _settle(first.done)
        self._unwatch()
        self._wake_writers()
        if self._closes_when_written:
            self.close("the input of the process is closed")

    def _watch(self) -> None:
        self._wake_writers()
        if not self._watching:
            self._watching = True
            self._loop.add_writer(self._fd, self._write)

    def _unwatch(self) -> None:
        if self._watching:
            self._watching = False
            self._loop.remove_writer(self._fd)

    def _wake_writers(self) -> None:
        if self._room and not self.is_full:
            waiting, self._room = self._room, []
            for waiter in waiting:
                _settle(waiter)

    def _withdraw(self, pending: _Pending) -> None:
        """Take back what has not been written; what has been cannot be."""
        if pending in self._pending:
            self._pending.remove(pending)
            self._queued_bytes -= len(pending.data)
            if not self._pending:
                self._unwatch()
            self._wake_writers()

    def close(self, why: str) -> None:
        """Close the input and fail what waits."""
        if self._fd < 0:
            return
        self._unwatch()
        os.close(self._fd)
        self._fd = -1
        self._why_closed = why
        pending, self._pending = self._pending, deque()
        self._queued_bytes = 0
        for item in pending:
            if item.done is not None and not item.done.done():
                item.done.set_exception(Conflict(why))
        self._wake_writers()


def _settle(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
