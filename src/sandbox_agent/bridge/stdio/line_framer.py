"""Frames a stream of bytes into whole lines without a copy per line.

`feed` returns complete pieces in order: blocks of whole lines, each ending with a newline; a long line, alone
and without its newline, which saves a copy; and a `DroppedLine` in place of a line that exceeds the limit, or
for which there is no memory.
"""

from __future__ import annotations

_LONG_LINE_BYTES = 16 * 1024
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
            at = 0
            if self._parts:
                at = self._end_line(data, end, pieces)
            elif self._skipping:
                self._skipping = False
                at = data.find(b"\n") + 1
            # Long lines are cut out one by one: cutting out the block first would copy them twice.
            while at < end and (newline := data.find(b"\n", at)) - at > _LONG_LINE_BYTES:
                self._add_line(data[at:newline], pieces)
                at = newline + 1
            if at < end:
                self._add_block(data[at:end], pieces)
            data = data[end:]
        if data and not self._skipping:
            self._parts.append(data)
            self._size += len(data)
            if self._size > self._max:
                pieces.append(DroppedLine(self._parts[0]))
                self._parts, self._size, self._skipping = [], 0, True
        return pieces

    def _end_line(self, data: bytes, end: int, pieces: list[Piece]) -> int:
        """Add the line that has begun in earlier reads, with all others if it is short.

        Returns where the rest of `data` begins.
        """
        newline = data.find(b"\n")
        is_long = self._size + newline > _LONG_LINE_BYTES
        parts, self._parts, self._size = self._parts, [], 0
        try:
            joined = b"".join((*parts, memoryview(data)[: newline if is_long else end]))
        except MemoryError:
            pieces.append(DroppedLine(parts[0]))
            return newline + 1
        if not is_long:
            self._add_block(joined, pieces)
            return end
        self._add_line(joined, pieces)
        return newline + 1

    def _add_line(self, line: bytes, pieces: list[Piece]) -> None:
        pieces.append(line if len(line) <= self._max else DroppedLine(line))

    def _add_block(self, block: bytes, pieces: list[Piece]) -> None:
        if len(block) - 1 > self._max:
            pieces += self._without_overlong(block)
        else:
            pieces.append(block)

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

    def drop(self) -> list[Piece]:
        """Drop the line that is arriving, if there is one; its rest will be skipped."""
        if not self._parts:
            return []
        dropped = DroppedLine(self._parts[0])
        self._parts, self._size, self._skipping = [], 0, True
        self.whole_up_to = 0
        return [dropped]

    def flush(self) -> bytes:
        """What remains at the end of the stream: the last line, if it had no newline."""
        rest = b"".join(self._parts)
        self._parts, self._size, self._skipping = [], 0, False
        return rest
