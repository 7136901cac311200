"""HTTP/1.1 over a plain socket, with nothing added and nothing hidden.

A `Connection` sends the bytes it is given and reads answers by the letter of RFC 9112, so a test can split
a request anywhere, pipeline, leave a body unfinished, and look at the exact bytes of an answer. `Client`
is the comfortable form: one request, one connection.
"""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any

DEFAULT_TIMEOUT = 8.0


class ConnectionClosed(Exception):
    """The peer ended the connection in the middle of a response."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    head: bytes

    def header(self, name: str) -> str | None:
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} is sent more than once: {values}"
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One TCP connection; reads are buffered, writes are not."""

    def __init__(
        self, host: str, port: int, timeout: float = DEFAULT_TIMEOUT, receive_buffer: int | None = None
    ) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def _fill(self) -> None:
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionClosed(f"closed by the server after {bytes(self._buffer[:200])!r}")
        self._buffer += data

    def read_until(self, mark: bytes) -> bytes:
        searched = 0
        while (end := self._buffer.find(mark, searched)) < 0:
            searched = max(0, len(self._buffer) - len(mark) + 1)
            self._fill()
        end += len(mark)
        data = bytes(self._buffer[:end])
        del self._buffer[:end]
        return data

    def read_exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def read_to_end(self) -> bytes:
        try:
            while True:
                self._fill()
        except ConnectionClosed:
            data = bytes(self._buffer)
            self._buffer.clear()
            return data

    def is_closed_by_peer(self) -> bool:
        """True once the peer has ended the connection and nothing is left to read."""
        try:
            self._fill()
        except (ConnectionClosed, ConnectionResetError):
            return True
        return False

    def read_head(self) -> tuple[int, tuple[tuple[str, str], ...], bytes]:
        head = self.read_until(b"\r\n\r\n")
        status_line, *lines = head[:-4].split(b"\r\n")
        version, status = status_line.split(b" ")[:2]
        assert version == b"HTTP/1.1", status_line
        headers = []
        for line in lines:
            name, _, value = line.partition(b":")
            headers.append((name.decode("ascii").lower(), value.strip().decode("latin-1")))
        return int(status), tuple(headers), head

    def read_chunk(self) -> bytes:
        """The next chunk of a chunked body, b"" for the last one; a time-out here loses nothing."""
        while (line_end := self._buffer.find(b"\r\n")) < 0:
            self._fill()
        start = line_end + 2
        end = start + int(self._buffer[:line_end], 16)
        while len(self._buffer) < end + 2:
            self._fill()
        assert self._buffer[end : end + 2] == b"\r\n"
        data = bytes(self._buffer[start:end])
        del self._buffer[: end + 2]
        return data

    def read_answer(self, *, to_head: bool = False) -> Answer:
        status, headers, head = self.read_head()
        if status == 100:
            return Answer(status, headers, b"", head)
        fields = dict(headers)
        if to_head or status in (204, 304):
            body = b""
        elif fields.get("transfer-encoding") == "chunked":
            body = b"".join(iter(self.read_chunk, b""))
        elif "content-length" in fields:
            body = self.read_exactly(int(fields["content-length"]))
        else:
            body = self.read_to_end()
        return Answer(status, headers, body, head)


def request_bytes(
    method: str, target: str, *, host: str, headers: dict[str, str] | None = None, body: bytes | None = None
) -> bytes:
    fields = {"host": host, **(headers or {})}
    if body is not None and "content-length" not in fields and "transfer-encoding" not in fields:
        fields["content-length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b"")


class Client:
    """Requests against one server; every request is a connection of its own."""

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self.host, self.port, self.token = host, port, token

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}"

    def connect(self, timeout: float = DEFAULT_TIMEOUT, receive_buffer: int | None = None) -> Connection:
        return Connection(self.host, self.port, timeout, receive_buffer)

    def auth(self) -> dict[str, str]:
        return {} if self.token is None else {"authorization": f"Bearer {self.token}"}

    def build(
        self,
        method: str,
        target: str,
        *,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        authorized: bool = True,
    ) -> bytes:
        fields = {**(self.auth() if authorized else {}), **(headers or {})}
        return request_bytes(
            method, target, host=fields.pop("host", self.authority), headers=fields, body=body
        )

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        authorized: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer:
        data = self.build(method, target, headers=headers, body=body, authorized=authorized)
        with self.connect(timeout) as connection:
            connection.send(data)
            return connection.read_answer(to_head=method == "HEAD")

    def get(self, target: str, **options: Any) -> Answer:
        return self.request("GET", target, **options)
