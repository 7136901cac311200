"""The newest output of a process as bytes, while sockets of its terminal are open.

The log keeps output in the form in which it is sent as events. Decoding that again for each socket takes a
fifth of the processor time of large output.
"""

from __future__ import annotations

# More than a reader takes at once, so one that keeps up decodes nothing.
_KEPT_BYTES = 512 * 1024


class LiveOutput:
    __slots__ = ("_pieces", "_readers", "_size")

    def __init__(self) -> None:
        self._pieces: dict[int, bytes] = {}
        """By the number of their entries, without gaps."""
        self._size = 0
        self._readers = 0

    def attach(self) -> None:
        self._readers += 1

    def detach(self) -> None:
        self._readers -= 1
        if not self._readers:
            self._pieces.clear()
            self._size = 0

    def add(self, number: int, data: bytes) -> None:
        if not self._readers:
            return
        self._pieces[number] = data
        self._size += len(data)
        while self._size > _KEPT_BYTES:
            self._size -= len(self._pieces.pop(next(iter(self._pieces))))

    def between(self, first: int, last: int) -> bytes | None:
        """The output of the entries from `first` to `last`; None if it is not kept."""
        pieces = self._pieces
        if first not in pieces or last not in pieces:
            return None
        return b"".join([pieces[number] for number in range(first, last + 1)])
