"""The last head of a connection, so that the next request with an equal head needs no parsing.

A client on a keep-alive connection sends the same head with every message; only Content-Length differs.
Equal bytes have an equal meaning, so a request that begins with the bytes of the last head, the digits of
its length aside, is given the same `RequestHead`. With the access check and the options that
are not read again either, this saves 40 % of the processor time of a POST of 200 bytes (37 instead of 60 µs).

Only heads with a `handler` match: the handler of the first request sets it when it needs nothing more of the
raw headers, whose Content-Length is that of the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.http1.incoming_request import IncomingRequest

if TYPE_CHECKING:
    from sandbox_agent.http.http1.request_head import RequestHead

END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"\r\ncontent-length: "
# Enough for any size that is allowed, and below what overflows the counter of httptools.
MAX_LENGTH_DIGITS = 15


class CachedHead:
    __slots__ = ("_after", "_before", "_digits_at", "head")

    def __init__(self, block: bytes, digits_at: int, digits_end: int, head: RequestHead) -> None:
        self.head = head
        self._digits_at = digits_at
        self._before = block[:digits_at]
        self._after = block[digits_end:]

    @classmethod
    def of(cls, block: bytes, head: RequestHead) -> CachedHead | None:
        """Cache `head`, which httptools read from `block`; None for heads with anything unusual in them."""
        if head.fault or head.http_10 or not head.keep_alive or b"upgrade" in head.header_map:
            return None
        line_ends = block.count(b"\r\n")
        if block.count(b"\r") != line_ends or block.count(b"\n") != line_ends:
            return None  # httptools may have seen the end of the head elsewhere.
        if b"\r\n " in block or b"\r\n\t" in block:
            return None
        digits_at = block.lower().find(_LENGTH) + len(_LENGTH)
        digits_end = block.find(b"\r", digits_at)
        digits = block[digits_at:digits_end]
        if digits_at < len(_LENGTH) or not digits.isdigit() or int(digits) != head.content_length:
            return None
        return cls(block, digits_at, digits_end, head)

    def read(self, data: bytes) -> IncomingRequest | None:
        """The request that `data` is or begins; None if its head differs or another request follows it."""
        at = self._digits_at
        end = data.find(b"\r", at, at + MAX_LENGTH_DIGITS + 1)
        if end < 0 or not data.startswith(self._before) or not data.startswith(self._after, end):
            return None
        digits = data[at:end]
        if self.head.handler is None or not digits.isdigit():
            return None
        length = int(digits)
        body = data[end + len(self._after) :]
        if len(body) > length:
            return None  # httptools finds where the other request begins.
        return IncomingRequest(self.head, length, body)
