"""The queue of messages to an agent's stdin: in order, several per write, without blocking.

Messages that are put in one turn of the event loop are written together at its end. If the agent does not
read, its queue grows. A message that has not been written in part can be withdrawn.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio import pipe_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.running_loop import EventLoop

# The kernel takes 1024 buffers per call, two for each message.
_MESSAGES_PER_WRITE = 512
_NEWLINE = b"\n"


class QueuedMessage:
    """A message in the queue. The write adds the newline, which saves a copy of the message."""

    __slots__ = ("data", "on_written", "sent", "size")

    def __init__(self, data: bytes, on_written: Callable[[], None] | None = None) -> None:
        self.data = data
        self.size = len(data) + 1
        self.sent = 0
        self.on_written = on_written

    @property
    def written(self) -> bool:
        return self.sent == self.size


class StdinQueue:
    __slots__ = (
        "_fd",
        "_fitted_bytes",
        "_loop",
        "_messages",
        "_write_scheduled",
        "on_closed",
        "queued_bytes",
    )

    def __init__(self, loop: EventLoop, fd: int, on_closed: Callable[[], None]) -> None:
        """`on_closed` is called when the agent has closed its end; queued messages are dropped then."""
        self._loop = loop
        self._fd = fd
        self.on_closed = on_closed
        self._messages: list[QueuedMessage] = []
        self._write_scheduled = False
        """A write will happen at the end of this turn, or when the pipe has room."""
        self._fitted_bytes = pipe_size.DEFAULT_BYTES
        """The largest write for which the pipe has been grown."""
        self.queued_bytes = 0

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def put(self, message: QueuedMessage) -> bool:
        """Queue a message; False if the agent has closed its end."""
        if self._fd < 0:
            return False
        if not self._write_scheduled:
            self._write_scheduled = True
            self._loop.call_soon(self._begin_write)
        self._messages.append(message)
        self.queued_bytes += message.size
        return True

    def withdraw(self, message: QueuedMessage) -> None:
        """Remove a message if no part of it has been written."""
        if not message.sent and message in self._messages:
            self._messages.remove(message)
            self.queued_bytes -= message.size

    def _begin_write(self) -> None:
        if self._fd >= 0 and not self._write():
            self._loop.add_writer(self._fd, self._continue_write)

    def _continue_write(self) -> None:
        if self._write() and self._fd >= 0:
            self._loop.remove_writer(self._fd)

    def _write(self) -> bool:
        """Write what the pipe takes; true if the queue is empty."""
        while self._messages:
            buffers, size = self._next_buffers()
            if size > self._fitted_bytes:
                pipe_size.fit(self._fd, size)
                self._fitted_bytes = size
            try:
                written = os.writev(self._fd, buffers)
            except BlockingIOError:
                return False
            except OSError:
                self.close()
                self.on_closed()
                return True
            self.queued_bytes -= written
            if written == size:
                self._remove_first(len(buffers) // 2)
            else:
                self._remove_written(written)
                return self._fd < 0
        self._write_scheduled = False
        return True

    def _next_buffers(self) -> tuple[list[bytes | memoryview], int]:
        buffers: list[bytes | memoryview] = []
        size = 0
        for message in islice(self._messages, _MESSAGES_PER_WRITE):
            buffers += (message.data, _NEWLINE)
            size += message.size
        if sent := self._messages[0].sent:
            # At least the newline is left.
            buffers[0] = memoryview(self._messages[0].data)[sent:]
            size -= sent
        return buffers, size

    def _remove_written(self, written: int) -> None:
        done = 0
        for message in self._messages:
            left = message.size - message.sent
            if written < left:
                message.sent += written
                break
            written -= left
            done += 1
        self._remove_first(done)

    def _remove_first(self, count: int) -> None:
        finished = self._messages[:count]
        del self._messages[:count]
        for message in finished:
            message.sent = message.size
            if message.on_written is not None:
                message.on_written()

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._messages.clear()
            self.queued_bytes = 0
