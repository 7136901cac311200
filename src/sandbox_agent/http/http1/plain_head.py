"""Heads of the ordinary requests that nearly all clients send, read without a parser library.

`read` understands a strict subset of HTTP/1.1 and says None to everything else: to what is incomplete, old,
rare, doubtful or wrong. None is no verdict; the same bytes then go to httptools. What `read` does understand
it understands exactly as httptools would, so which of the two was asked shows in nothing but time.
"""

from __future__ import annotations

from sandbox_agent.http.http1.heads import MAX_LENGTH_DIGITS, RequestHead

_METHODS = {name.encode(): name for name in ("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS")}
_LINE_END = b"\r\n"
_END_OF_HEAD = b"\r\n\r\n"
_PRINTABLE = bytes(range(0x20, 0x7F))
_TOKEN = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# No name, and the names of all that ends a body, or changes the connection, in a way that is not read here.
_UNUSUAL = frozenset(
    (b"", b"transfer-encoding", b"upgrade", b"expect", b"http2-settings", b"trailer", b"proxy-connection")
)
_KEEPS_ALIVE = {b"keep-alive": True, b"close": False}


def read(data: bytes, max_bytes: int) -> RequestHead | None:
    """The head that `data` begins with, if it is an ordinary one; its body begins after the empty line."""
    end = data.find(_END_OF_HEAD, 0, max_bytes)
    if end < 0:
        return None
    block = data[: end + 2]
    lines = block.split(_LINE_END)
    lines.pop()
    # Beside printable characters there are line ends only: no CR or LF alone, no tab, nothing above ASCII.
    if block.translate(None, _PRINTABLE) != _LINE_END * len(lines):
        return None
    # Values have one blank in front of them, none behind, and are not empty.
    if block.find(b" \r\n") >= 0 or block.find(b":  ") >= 0:
        return None
    request = lines.pop(0).split(b" ")
    if len(request) != 3 or request[2] != b"HTTP/1.1":
        return None
    method, target = _METHODS.get(request[0]), request[1]
    if method is None or target[:1] != b"/":
        return None
    parts = [line.partition(b": ") for line in lines]
    headers = [(name.lower(), value) for name, colon, value in parts if colon]
    by_name = dict(headers)
    # One is missing if a line is no header, or if a header is given twice.
    if len(by_name) < len(lines) or b"".join(by_name).translate(None, _TOKEN):
        return None
    length = by_name.get(b"content-length", b"0")
    keep_alive = _KEEPS_ALIVE.get(by_name.get(b"connection", b"keep-alive").lower())
    if keep_alive is None or not _UNUSUAL.isdisjoint(by_name):
        return None
    if not length.isdigit() or len(length) > MAX_LENGTH_DIGITS:
        return None
    body = end + len(_END_OF_HEAD)
    # Who says that nothing follows and sends more is refused, and not here.
    if not keep_alive and len(data) - body > int(length):
        return None
    return RequestHead(method, target, headers, http_10=False, keep_alive=keep_alive)
