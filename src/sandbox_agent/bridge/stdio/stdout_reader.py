"""Reads an agent's stdout in batches and frames it into lines for the owner.

One read takes what is available. After a full read, long lines get larger reads and short lines a larger
pipe, so that a flood costs few steps per line.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio import pipe_size
from sandbox_agent.bridge.stdio.line_framer import DroppedLine, LineFramer
from sandbox_agent.bridge.stdio.split_lines import LF

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.stdio.line_framer import Piece
    from sandbox_agent.runtime.running_loop import EventLoop

    class LineConsumer(Protocol):
        def take_block(self, block: bytes) -> None:
            """Take a block of whole lines."""

        def take(self, pieces: list[Piece]) -> None:
            """Take several pieces."""

    class StdoutOwner(Protocol):
        @property
        def output(self) -> LineConsumer: ...

        def on_output(self) -> None:
            """The process has written something, and `output` has taken it."""


# Sizes of one read. The first is below the 128 KiB from which on malloc asks the kernel for
# memory; the others are sizes of a grown pipe.
_READ_STEPS = (120 * 1024, 256 * 1024, 1024 * 1024)
READ_BYTES, _MAX_READ_BYTES = _READ_STEPS[0], _READ_STEPS[-1]
# A newline this close to the end of a full read means short lines.
_SHORT_LINE_BYTES = 1024
_FLOOD_PIPE_BYTES = 256 * 1024
_MEMORY_RETRY_S = 0.1
# Limit of what is read from the pipe of a dead agent, because its descendants may go on writing.
_DRAIN_BYTES = 16 * 1024 * 1024


class StdoutReader:
    __slots__ = (
        "_discards",
        "_fd",
        "_fitted_bytes",
        "_framer",
        "_loop",
        "_on_end",
        "_read_step",
        "is_paused",
        "owner",
    )

    def __init__(
        self,
        loop: EventLoop,
        fd: int,
        max_line_bytes: int,
        owner: StdoutOwner,
        on_end: Callable[[], None],
    ) -> None:
        """`on_end` is called when the process closes its stdout, not by `close`."""
        self._loop = loop
        self._fd = fd
        self.owner = owner
        self._on_end = on_end
        self._framer = LineFramer(max_line_bytes)
        self._read_step = 0
        self._fitted_bytes = pipe_size.DEFAULT_BYTES
        """The largest read for which the pipe has been grown."""
        self._discards = False
        self.is_paused = False
        loop.add_reader(fd, self._on_readable)

    def _on_readable(self) -> None:
        read_bytes = _READ_STEPS[self._read_step]
        try:
            data = os.read(self._fd, read_bytes)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        except MemoryError:
            self._on_memory_error()
            return
        if not data:
            self._on_end()
            self.close()
            return
        size = len(data)
        if size < READ_BYTES < read_bytes:
            self._read_step -= 1
        if size <= self._framer.whole_up_to and size < self._fitted_bytes and data[-1] == LF:
            # The usual case: whole lines in one read.
            if not self._discards:
                self.owner.output.take_block(data)
                self.owner.on_output()
            return
        pieces = self._framer.feed(data)
        self._hand_over(pieces)
        if size >= min(read_bytes, self._fitted_bytes):
            self._adapt_reads(data)

    def _adapt_reads(self, data: bytes) -> None:
        """After a full read: larger reads for long lines, a larger pipe for many short ones."""
        if data.rfind(b"\n", -_SHORT_LINE_BYTES) < 0:
            if self._read_step + 1 < len(_READ_STEPS):
                self._read_step += 1
                self._grow_pipe(_READ_STEPS[self._read_step])
        elif self._read_step:
            self._read_step -= 1
        else:
            self._grow_pipe(_FLOOD_PIPE_BYTES)

    def _grow_pipe(self, size: int) -> None:
        if size > self._fitted_bytes and self._fd >= 0:
            self._fitted_bytes = size
            pipe_size.fit(self._fd, size)

    def _on_memory_error(self) -> None:
        """Drop the line that is arriving, which may be most of what is in memory, or wait for memory."""
        self._read_step = 0
        dropped = self._framer.drop()
        if not dropped:
            self.pause()
            self._loop.call_later(_MEMORY_RETRY_S, self.resume)
        self._hand_over(dropped)

    def _hand_over(self, pieces: list[Piece]) -> None:
        if not pieces or self._discards:
            return
        try:
            self.owner.output.take(pieces)
        except MemoryError:
            self.owner.output.take([DroppedLine(piece) for piece in pieces if isinstance(piece, bytes)])
        self.owner.on_output()

    def pause(self) -> None:
        """Stop reading; further output stays in the pipe."""
        if not self.is_paused and self._fd >= 0:
            self.is_paused = True
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            if self._fd >= 0:
                self._loop.add_reader(self._fd, self._on_readable)

    def discard(self) -> None:
        """Discard further output; the pipe is still drained so that the agent does not block."""
        self._discards = True

    def finish(self) -> bool:
        """Hand over the remaining output of a dead process; false if reading was paused meanwhile."""
        drained = 0
        while self._fd >= 0 and drained < _DRAIN_BYTES:
            data = read_available(self._fd, _MAX_READ_BYTES)
            if not data:
                break
            drained += len(data)
            self._hand_over(self._framer.feed(data))
            if self.is_paused:
                return False
        self.close()
        return True

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            # Breaks the reference cycle with the process, so that both are freed at once.
            self._on_end = _ignore
            if rest := self._framer.flush():
                self._hand_over([rest + b"\n"])


def _ignore() -> None:
    pass


def read_available(fd: int, size: int) -> bytes | None:
    """The available bytes; empty at the end of the stream; None if nothing is available now."""
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None
    except OSError:
        return b""
