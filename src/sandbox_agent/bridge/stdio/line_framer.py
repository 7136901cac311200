"""Frames a stream of bytes into whole lines without a copy per line.

`feed` returns complete pieces in order: blocks of whole lines, each ending with a newline; a long line that
came in several reads, alone and without its newline, which saves a copy; and a `DroppedLine` in place of a
line that exceeds the limit, or for which there is no memory.
"""

from __future__ import annotations

_LONG_LINE_BYTES = 64 * 1024
_KEPT_BYTES = 512


class DroppedLine:
    """Stands for a line that was dropped."""

    __slots__ = ("beginning",)

    def __init__(self, line: bytes) -> None:
        self.beginning = line[:_KEPT_BYTES]
        """The first bytes of the line, which may tell what it answers."""


Piece = bytes | DroppedLine


class LineFramer:
    __slots__ = ("_max", "_parts", "_size", "_skipping", "whole_up_to")

    def __init__(self, max_line_bytes: int) -> None:
        self._max = max_line_bytes
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.whole_up_to = max_line_bytes
        """Data that ends with a newline and is no longer than this is whole lines; it needs no `feed`."""

    def feed(self, data: bytes) -> list[Piece]:
        if data.endswith(b"\n") and len(data) <= self.whole_up_to:
            return [data]
        pieces = self._frame(data)
        self.whole_up_to = 0 if self._parts or self._skipping else self._max
        return pieces

    def _frame(self, data: bytes) -> list[Piece]:
        pieces: list[Piece] = []
        end = data.rfind(b"\n") + 1
        if end:
            is_alone = False
            if self._parts:
                is_alone = self._size > _LONG_LINE_BYTES and data.find(b"\n") + 1 == end
                parts, self._parts, self._size = self._parts, [], 0
                try:
                    block = b"".join((*parts, memoryview(data)[: end - is_alone]))
                except MemoryError:
                    pieces.append(DroppedLine(parts[0]))
                    is_alone, block = False, data[data.find(b"\n") + 1 : end]
            else:
                block = data if end == len(data) else data[:end]
                if self._skipping:
                    block = block[block.find(b"\n") + 1 :]
                    self._skipping = False
            if is_alone:
                pieces.append(block if len(block) <= self._max else DroppedLine(block))
            elif len(block) - 1 > self._max:
                pieces += self._without_overlong(block)
            elif block:
                pieces.append(block)
            data = data[end:] if end < len(data) else b""
        if data and not self._skipping:
            self._parts.append(data)
            self._size += len(data)
            if self._size > self._max:
                pieces.append(DroppedLine(self._parts[0]))
                self._parts, self._size, self._skipping = [], 0, True
        return pieces

    def _without_overlong(self, block: bytes) -> list[Piece]:
        pieces: list[Piece] = []
        start = at = 0
        while at < len(block):
            newline = block.index(b"\n", at)
            if newline - at > self._max:
                if at > start:
                    pieces.append(block[start:at])
                pieces.append(DroppedLine(block[at : at + _KEPT_BYTES]))
                start = newline + 1
            at = newline + 1
        if at > start:
            pieces.append(block[start:at])
        return pieces

    def flush(self) -> bytes:
        """What remains at the end of the stream: the last line, if it had no newline."""
        rest = b"".join(self._parts)
        self._parts, self._size, self._skipping = [], 0, False
        return rest
