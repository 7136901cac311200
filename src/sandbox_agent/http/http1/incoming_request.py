"""A request as far as it has arrived: its head, and what of its body waits to be taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.http.http1.request_head import RequestHead


class IncomingRequest:
    """Filled by a `RequestReader`, emptied by an `Exchange`."""

    __slots__ = ("_pieces", "complete", "content_length", "discards_body", "head", "received", "size")

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
        self._pieces = [body] if body else []

    def feed(self, data: bytes) -> None:
        self.received += len(data)
        if not self.discards_body:
            self._pieces.append(data)
            self.size += len(data)

    def take_body(self) -> bytes:
        """What has arrived since the last call."""
        pieces = self._pieces
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces, self.size = [], 0
        return body

    def discard_body(self) -> None:
        """Drop what waits and what is still to come: the answer does not depend on it."""
        self.discards_body = True
        if self._pieces:
            self._pieces, self.size = [], 0
