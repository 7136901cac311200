"""JSON-RPC lines on file descriptors, and the errors JSON-RPC knows.

Input arrives as whole lines whatever their length. Output is gathered and written when the agent is
about to wait, so a burst of notifications costs few system calls; order is always kept.
"""

from __future__ import annotations

import json
import os
import select

TYPE_CHECKING = False  # as in typing, whose import would cost a tenth of the start-up time
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
NOT_FOUND = -32002
REQUEST_CANCELLED = -32800

READ_BYTES = 1 << 18
# Enough to make writes cheap, small enough that a reader sees a flood while it runs.
GATHER_BYTES = 1 << 16


class RpcError(Exception):
    """Something the other side is told as a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> Json:
        body: Json = {"code": self.code, "message": self.message}
        if self.data is not None:
            body["data"] = self.data
        return body


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def parse_message(line: bytes) -> Json:
    """The JSON object on this line.

    Raises:
        RpcError: the line is not JSON, or is JSON but not an object.
    """
    try:
        message = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise RpcError(PARSE_ERROR, "Parse error", {"detail": str(problem)[:200]}) from None
    if not isinstance(message, dict):
        raise RpcError(INVALID_REQUEST, "Invalid request", {"detail": "a message is a JSON object"})
    return message


def encode_message(message: Json) -> bytes:
    """One line, ready to be written."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair: legal in JSON, but only as an escape
        return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


class LineInput:
    """Lines from a file descriptor, without a limit on their length."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._unfinished: list[bytes] = []

    def read_lines(self) -> list[bytes] | None:
        """The lines that one read completed, perhaps none; None at the end of the input."""
        data = os.read(self.fd, READ_BYTES)
        if not data:
            return None
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines:
            lines[0] = b"".join([*self._unfinished, lines[0]])
            self._unfinished.clear()
        if rest:
            self._unfinished.append(rest)
        return lines


class Output:
    """Messages to a file descriptor, gathered until `flush`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._gathered = bytearray()

    def send(self, message: Json) -> None:
        self.write(encode_message(message))

    def write(self, data: bytes) -> None:
        """Bytes as they are, also such that are not JSON."""
        self._gathered += data
        if len(self._gathered) >= GATHER_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._gathered:
            return
        view = memoryview(bytes(self._gathered))
        self._gathered.clear()
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # whoever made the pipe may have made it non-blocking
                select.select([], [self._fd], [])
