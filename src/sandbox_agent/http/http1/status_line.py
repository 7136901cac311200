"""What stands above the body of an answer, besides what the answer itself says: reason and date."""

from __future__ import annotations

import time

# Spelled out: the standard library's table costs two milliseconds of start-up.
REASONS = {
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
# Spelled out because strftime speaks the user's language.
_DAYS = b"Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class _Date:
    """The date header, made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self.line = b""

    def current(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            now = time.gmtime(second)
            self.line = b"date: %b, %02d %b %d %02d:%02d:%02d GMT\r\n" % (
                _DAYS[now.tm_wday],
                now.tm_mday,
                _MONTHS[now.tm_mon - 1],
                now.tm_year,
                now.tm_hour,
                now.tm_min,
                now.tm_sec,
            )
        return self.line


date = _Date()
