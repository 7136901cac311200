"""Reads the output of a process from a pipe or a terminal, as it comes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.running_loop import EventLoop

# Of one turn of the loop, and of one entry of a log. A terminal hands out 4 KiB per read.
_TURN_BYTES = 32 * 1024
# The most that a pipe can hold for a process without privileges.
_PIPE_BYTES = 1024 * 1024


class OutputReader:
    __slots__ = ("_fd", "_loop", "_on_data", "_on_end", "_reading")

    def __init__(
        self, loop: EventLoop, fd: int, on_data: Callable[[bytes], None], on_end: Callable[[], None]
    ) -> None:
        """`fd` is non-blocking and belongs to the reader."""
        self._loop = loop
        self._fd = fd
        self._on_data = on_data
        self._on_end = on_end
        self._reading = False
        self.resume()

    @property
    def ended(self) -> bool:
        return self._fd < 0

    @property
    def fd(self) -> int:
        return self._fd

    def pause(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if not self._reading and self._fd >= 0:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        data, at_end = self._read()
        if data:
            self._on_data(data)
        if at_end:
            self.close()
            self._on_end()

    def _read(self) -> tuple[bytes, bool]:
        """What there is, up to a turn's worth, and whether that was all for ever."""
        parts: list[bytes] = []
        size = 0
        while size < _TURN_BYTES and self._fd >= 0:
            try:
                part = os.read(self._fd, _TURN_BYTES - size)
            except BlockingIOError:
                break
            except OSError:
                part = b""  # EIO: no process has the terminal open any more.
            if not part:
                return b"".join(parts), True
            parts.append(part)
            size += len(part)
        return b"".join(parts), False

    def drain(self) -> None:
        """Read what has been written up to now; a process that goes on writing does not hold this up."""
        taken = 0
        while taken < _PIPE_BYTES and self._fd >= 0:
            data, at_end = self._read()
            taken += len(data)
            if data:
                self._on_data(data)
            if at_end:
                self.close()
            elif not data:
                break

    def close(self) -> None:
        if self._fd >= 0:
            self.pause()
            os.close(self._fd)
            self._fd = -1
