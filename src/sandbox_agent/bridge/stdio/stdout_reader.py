"""What an agent writes, from its pipe to its owner: read in batches, framed into lines.

One read takes what is there. Where that is not enough, long lines get larger reads, and short ones several
reads in a row, so that a flood costs a few steps for many lines.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio import pipe_size
from sandbox_agent.bridge.stdio.line_framer import LineFramer
from sandbox_agent.bridge.stdio.split_lines import LF

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.stdio.line_framer import Piece
    from sandbox_agent.runtime.running_loop import EventLoop

    class Output(Protocol):
        def take_block(self, block: bytes) -> None:
            """What the process has written: whole lines."""

        def take(self, pieces: list[Piece]) -> None:
            """The same, in several pieces."""

    class StdoutOwner(Protocol):
        @property
        def output(self) -> Output: ...

        def heard(self) -> None:
            """The process has written something, and it has been taken."""


# 64 KiB reads stay in the allocator's pools; a stream of full reads is worth larger ones.
READ_BYTES, _MAX_READ_BYTES = 64 * 1024, 1024 * 1024
# Where whole lines end this close to the end of a full read, they are short: several reads make one batch.
_SHORT_LINE_BYTES = 1024
_MORE_READS, _FLOOD_PIPE_BYTES = 2, 256 * 1024
# What a dead agent left in its pipe is read to the end; grandchildren that go on writing are cut off here.
_DRAIN_BYTES = 16 * 1024 * 1024


class StdoutReader:
    __slots__ = (
        "_fd",
        "_framer",
        "_loop",
        "_muted",
        "_on_end",
        "_owner",
        "_read_bytes",
        "_room",
        "is_paused",
    )

    def __init__(
        self,
        loop: EventLoop,
        fd: int,
        max_line_bytes: int,
        owner: StdoutOwner,
        on_end: Callable[[], None],
    ) -> None:
        """`on_end` is called when the process has closed it, not when `close` has."""
        self._loop = loop
        self._fd = fd
        self._owner = owner
        self._on_end = on_end
        self._framer = LineFramer(max_line_bytes)
        self._read_bytes = READ_BYTES
        self._room = READ_BYTES
        """The largest read that the pipe has been fitted to."""
        self._muted = False
        self.is_paused = False
        loop.add_reader(fd, self._on_readable)

    def _on_readable(self) -> None:
        try:
            data = os.read(self._fd, self._read_bytes)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._on_end()
            self.close()
            return
        size, most = len(data), self._read_bytes
        if size < READ_BYTES < most:
            self._read_bytes //= 4
        if size <= self._framer.whole_up_to and size < most and data[-1] == LF:
            # As nearly always; somebody waits for it.
            if not self._muted:
                self._owner.output.take_block(data)
                self._owner.heard()
            return
        pieces = self._framer.feed(data)
        if size == most:
            pieces += self._read_on(data)
        self._hand_over(pieces)

    def _read_on(self, data: bytes) -> list[Piece]:
        """There was more than one read takes: long lines get larger reads, short ones a few more of them."""
        pieces: list[Piece] = []
        if data.rfind(b"\n", -_SHORT_LINE_BYTES) < 0:
            if self._read_bytes < _MAX_READ_BYTES:
                self._read_bytes *= 4
                self._make_room(self._read_bytes)
            return pieces
        if self._read_bytes > READ_BYTES:
            self._read_bytes //= 4
            return pieces
        self._make_room(_FLOOD_PIPE_BYTES)
        for _ in range(_MORE_READS):
            more = read_available(self._fd, READ_BYTES)
            if not more:
                break  # The end of the stream, if that is it, is reported again.
            pieces += self._framer.feed(more)
            if len(more) < READ_BYTES:
                break
        return pieces

    def _make_room(self, size: int) -> None:
        if size > self._room:
            self._room = size
            pipe_size.fit(self._fd, size)

    def _hand_over(self, pieces: list[Piece]) -> None:
        if pieces and not self._muted:
            self._owner.output.take(pieces)
            self._owner.heard()

    def pause(self) -> None:
        """Let the agent wait; what it has written stays in the pipe."""
        if not self.is_paused and self._fd >= 0:
            self.is_paused = True
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            if self._fd >= 0:
                self._loop.add_reader(self._fd, self._on_readable)

    def mute(self) -> None:
        """Nobody hears it any more; the pipe is still drained so that nobody blocks on it."""
        self._muted = True

    def finish(self) -> bool:
        """Hand over what a dead process has left; false if somebody has paused that meanwhile."""
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
            # Its process knows this object; a way back would keep both until the collector comes by.
            self._on_end = _nothing
            if rest := self._framer.flush():
                self._hand_over([rest + b"\n"])


def _nothing() -> None:
    pass


def read_available(fd: int, size: int) -> bytes | None:
    """What there is; nothing at the end of the stream; None when there is nothing now."""
    try:
        return os.read(fd, size)
    except BlockingIOError:
        return None
    except OSError:
        return b""
