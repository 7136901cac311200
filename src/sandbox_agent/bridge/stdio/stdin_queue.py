"""Messages on their way to an agent's stdin: in order, many at a time, never waited for.

What is put in during one turn of the event loop goes out in one write, or at once if nothing else is going on
in that turn. An agent that does not read makes its queue grow, and nothing else; a message of which nothing
has been written yet can be taken back.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio import pipe_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.running_loop import EventLoop

# The kernel takes 1024 buffers at a time, two for each message.
_MESSAGES_PER_WRITE = 512
_NEWLINE = b"\n"
# So much is copied in the time in which a sleeping reader wakes up, so its beginning goes first, to wake it.
_LONG_BYTES, _BEGINNING_BYTES = 32 * 1024, 256


class Outgoing:
    """A message on its way; its newline is added by the write, which saves a copy of it."""

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
    __slots__ = ("_due", "_fd", "_loop", "_messages", "_on_closed", "_room", "queued_bytes")

    def __init__(self, loop: EventLoop, fd: int, on_closed: Callable[[], None]) -> None:
        """`on_closed` is called when the other end is closed; what was not written will never be."""
        self._loop = loop
        self._fd = fd
        self._on_closed = on_closed
        self._messages: list[Outgoing] = []
        self._due = False
        """A write is on the way: at the end of this turn, or when the pipe has room."""
        self._room = pipe_size.USUAL_BYTES
        """The largest write that the pipe has been fitted to."""
        self.queued_bytes = 0

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def put(self, message: Outgoing) -> bool:
        """False if the other end is known to be closed."""
        if self._fd < 0:
            return False
        if not self._due:
            if not getattr(self._loop, "has_more", True) and self._write_alone(message):
                return True
            self._due = True
            self._loop.call_soon(self._begin)
        self._messages.append(message)
        self.queued_bytes += message.size
        return True

    def _write_alone(self, message: Outgoing) -> bool:
        """Write a message for which nothing else has to be waited; false if a part of it is left."""
        if message.size > self._room:
            return False
        data: bytes | memoryview = message.data
        try:
            if message.size > _LONG_BYTES:
                message.sent = os.write(self._fd, data[:_BEGINNING_BYTES])
                data = memoryview(data)[message.sent :]
            message.sent += os.writev(self._fd, (data, _NEWLINE))
        except OSError:
            return False  # What is wrong shows again when it is written with the others.
        if message.sent < message.size:
            return False
        if message.on_written is not None:
            message.on_written()
        return True

    def withdraw(self, message: Outgoing) -> None:
        """Take back a message of which nothing has been written yet."""
        if not message.sent and message in self._messages:
            self._messages.remove(message)
            self.queued_bytes -= message.size

    def _begin(self) -> None:
        if self._fd >= 0 and not self._write():
            self._loop.add_writer(self._fd, self._go_on)

    def _go_on(self) -> None:
        if self._write() and self._fd >= 0:
            self._loop.remove_writer(self._fd)

    def _write(self) -> bool:
        """Write what the pipe takes; true when nothing is left to be written."""
        while self._messages:
            buffers, size = self._next_buffers()
            if size > self._room:
                pipe_size.fit(self._fd, size)
                self._room = size
            try:
                written = os.writev(self._fd, buffers)
            except BlockingIOError:
                return False
            except OSError:
                self.close()
                self._on_closed()
                return True
            self._count_off(written)
            if written < size:
                return self._fd < 0
        self._due = False
        return True

    def _next_buffers(self) -> tuple[list[bytes | memoryview], int]:
        buffers: list[bytes | memoryview] = []
        size = 0
        for message in islice(self._messages, _MESSAGES_PER_WRITE):
            buffers += (message.data, _NEWLINE)
            size += message.size
        if sent := self._messages[0].sent:
            # Its newline, at least, is still to be written.
            buffers[0] = memoryview(self._messages[0].data)[sent:]
            size -= sent
        return buffers, size

    def _count_off(self, written: int) -> None:
        done = 0
        for message in self._messages:
            left = message.size - message.sent
            if written < left:
                message.sent += written
                break
            written -= left
            message.sent = message.size
            done += 1
        finished = self._messages[:done]
        del self._messages[:done]
        for message in finished:
            self.queued_bytes -= message.size
            if message.on_written is not None:
                message.on_written()

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._messages.clear()
            self.queued_bytes = 0
