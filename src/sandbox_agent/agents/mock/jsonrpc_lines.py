"""JSON-RPC messages as lines on file descriptors.

Input is split into lines of any length. Output is buffered and written before the agent waits, so a burst of
notifications costs few system calls; the order is kept.
"""

from __future__ import annotations

import json
import os
import select
from typing import Any

from sandbox_agent.jsonrpc_error_codes import INVALID_REQUEST, PARSE_ERROR

Json = dict[str, Any]

READ_BYTES = 1 << 18
# Large enough for cheap writes, small enough that a reader sees a flood while it runs.
BUFFER_BYTES = 1 << 16


class JsonRpcError(Exception):
    """Sent to the client as a JSON-RPC error."""

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
        JsonRpcError: the line is not JSON, or is JSON but not an object.
    """
    try:
        message = _decode(line.decode("utf-8"))
    except (ValueError, RecursionError) as problem:
        raise JsonRpcError(PARSE_ERROR, "Parse error", {"detail": str(problem)[:200]}) from None
    if not isinstance(message, dict):
        raise JsonRpcError(INVALID_REQUEST, "Invalid request", {"detail": "a message is a JSON object"})
    return message


def encode_message(message: Json) -> bytes:
    """One line, ready to be written."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # Half of a surrogate pair is legal in JSON, but only as an escape.
        return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


class LineInput:
    """Lines from a file descriptor, without a limit on their length."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._unfinished: list[bytes] = []

    def read_lines(self) -> list[bytes] | None:
        """The lines that one read completed, possibly none; None at the end of the input."""
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


class LineOutput:
    """Messages to a file descriptor, buffered until `flush`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._buffer = bytearray()

    def send(self, message: Json) -> None:
        self.write(encode_message(message))

    def write(self, data: bytes) -> None:
        """Write bytes unchanged, also if they are not JSON."""
        self._buffer += data
        if len(self._buffer) >= BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._buffer:
            return
        view = memoryview(bytes(self._buffer))
        self._buffer.clear()
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:  # The parent may have made the pipe non-blocking.
                select.select([], [self._fd], [])
