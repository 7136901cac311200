"""The head of a response: status line, checked headers, date.

Names and values are checked where they are written: a value with a line end in it would split the response.
"""

from __future__ import annotations

import time
from functools import lru_cache

# Spelled out: the table of the standard library (http.HTTPStatus) costs two milliseconds of start-up.
_REASONS = {
    101: b"Switching Protocols",
    200: b"OK",
    202: b"Accepted",
    204: b"No Content",
    206: b"Partial Content",
    304: b"Not Modified",
    400: b"Bad Request",
    401: b"Unauthorized",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    406: b"Not Acceptable",
    408: b"Request Timeout",
    409: b"Conflict",
    412: b"Precondition Failed",
    413: b"Content Too Large",
    415: b"Unsupported Media Type",
    416: b"Range Not Satisfiable",
    421: b"Misdirected Request",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    500: b"Internal Server Error",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
    504: b"Gateway Timeout",
}
_TOKEN = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# strftime would use the language of the user.
_DAYS = b"Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class InvalidHeader(ValueError):
    """A response header that would not be HTTP."""


@lru_cache(maxsize=64)
def encode(status: int, headers: tuple[tuple[bytes, bytes], ...]) -> tuple[bytes, bool]:
    """Status line and headers, without the empty line, and whether they tell the size of the body.

    Cached, because most responses of a server have one of a few heads. Raises InvalidHeader.
    """
    is_sized = status in (204, 304)
    lines = [b"HTTP/1.1 %d %b\r\n" % (status, _REASONS.get(status, b"Unknown"))]
    for name, value in headers:
        if not name or name.translate(None, _TOKEN):
            raise InvalidHeader(f"not the name of a header: {name[:100]!r}")
        if b"\r" in value or b"\n" in value or b"\0" in value:
            raise InvalidHeader(f"line end or NUL in the value of {name.decode()}")
        lines.append(b"%b: %b\r\n" % (name, value))
        is_sized = is_sized or name.lower() == b"content-length"
    return b"".join(lines), is_sized


def date_line() -> bytes:
    """The date header; empty after 2262, because a server without a clock sends none (RFC 9110, 6.6.1)."""
    try:
        return _date_line_of(int(time.time()))
    except OverflowError:
        return b""


@lru_cache(maxsize=1)
def _date_line_of(second: int) -> bytes:
    now = time.gmtime(second)
    return b"date: %b, %02d %b %d %02d:%02d:%02d GMT\r\n" % (
        _DAYS[now.tm_wday],
        now.tm_mday,
        _MONTHS[now.tm_mon - 1],
        now.tm_year,
        now.tm_hour,
        now.tm_min,
        now.tm_sec,
    )
