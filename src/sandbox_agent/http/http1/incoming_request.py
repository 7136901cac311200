"""A request as far as it has arrived: its head, and what of its body waits to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.http.http1.request_head import RequestHead

# Smaller pieces are joined as they arrive: as an object of its own a chunk of two bytes takes 43.
_SMALL_BYTES = 4096


class IncomingRequest:
    """Filled by a `RequestReader`, emptied by an `Exchange`."""

    __slots__ = ("_first", "_rest", "complete", "content_length", "discards_body", "head", "received", "size")

    def __init__(self, head: RequestHead, content_length: int | None, body: bytes = b"") -> None:
        """`body` is what has arrived with the head."""
        self.head = head
        self.content_length = content_length
        self.complete = False
        """The whole request has arrived."""
        self.received = len(body)
        """Bytes of the body that have arrived."""
        self.size = len(body)
        """Those that have not been taken."""
        self.discards_body = False
        self._first = body
        self._rest: list[bytes | bytearray] = []
        """What follows `_first`; a bytearray takes small pieces that follow each other."""

    def feed(self, data: bytes) -> None:
        self.received += len(data)
        if self.discards_body:
            return
        self.size += len(data)
        rest = self._rest
        if not self._first:
            self._first = data
        elif len(data) > _SMALL_BYTES:
            rest.append(data)
        elif rest and isinstance(rest[-1], bytearray):
            rest[-1] += data
        else:
            rest.append(bytearray(data))

    def take_body(self) -> bytes:
        """What has arrived since the last call."""
        body = self._first
        if self._rest:
            body = b"".join((body, *self._rest))
            self._rest = []
        self._first, self.size = b"", 0
        return body

    def discard_body(self) -> None:
        """Drop what waits and what is still to come: the answer does not depend on it."""
        self.discards_body = True
        if self.size:
            self.take_body()
