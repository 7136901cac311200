"""A terminal's WebSocket over a plain socket, with little work of its own beside the server's."""

from __future__ import annotations

import json
import os
import socket
from base64 import b64encode
from typing import Self

LIMIT_S = 60.0
CHUNK = 256 * 1024
TEXT, BINARY, CLOSE = 1, 2, 8
# A mask of zeros leaves the bytes as they are, which RFC 6455 allows.
MASK = bytes(4)


class TerminalConnection:
    def __init__(self, port: int, token: str, process_id: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), LIMIT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = bytearray()
        request = (
            f"GET /v1/processes/{process_id}/terminal/ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {b64encode(os.urandom(16)).decode()}\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        while (end := self._received.find(b"\r\n\r\n")) < 0:
            self._receive()
        if not self._received.startswith(b"HTTP/1.1 101"):
            raise RuntimeError(f"no terminal: {bytes(self._received[:200])!r}")
        del self._received[: end + 4]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def type(self, text: str) -> None:
        """Send input of at most a few bytes."""
        payload = json.dumps({"type": "input", "data": text}).encode()
        self._socket.sendall(bytes((0x80 | TEXT, 0x80 | len(payload))) + MASK + payload)

    def output(self) -> bytes:
        """The next frame of output; empty after the exit of the process."""
        while True:
            kind, payload = self._frame()
            if kind == BINARY:
                return payload
            if kind == CLOSE or (kind == TEXT and json.loads(payload)["type"] == "exit"):
                return b""

    def wait_for(self, text: bytes) -> None:
        seen = b""
        while text not in seen:
            if not (data := self.output()):
                raise RuntimeError(f"the terminal has ended after {seen[-200:]!r}")
            seen += data

    def _frame(self) -> tuple[int, bytes]:
        self._need(2)
        kind, size, start = self._received[0] & 15, self._received[1] & 127, 2
        if size >= 126:
            start += 2 if size == 126 else 8
            self._need(start)
            size = int.from_bytes(self._received[2:start])
        self._need(start + size)
        payload = bytes(self._received[start : start + size])
        del self._received[: start + size]
        return kind, payload

    def _need(self, size: int) -> None:
        while len(self._received) < size:
            self._receive()

    def _receive(self) -> None:
        data = self._socket.recv(CHUNK)
        if not data:
            raise RuntimeError("the server has closed the connection")
        self._received += data
