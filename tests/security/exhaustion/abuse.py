"""Kinds of abuse by clients without a token. Each holds its connections until the next kind is tried."""

from __future__ import annotations

import random
import select
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HOST = b"Host: localhost\r\n"
PADDING = b"x" * 60_000
Send = Callable[[bytes], None]


class Attacker:
    """Opens connections to one server; errors of a connection that the server ends are expected."""

    def __init__(self, port: int, connections: int, seed: int = 1) -> None:
        self.port = port
        self.connections = connections
        self.random = random.Random(seed)  # noqa: S311 - to be replayed, not to be secret

    @contextmanager
    def open(self, count: int | None = None) -> Iterator[list[socket.socket]]:
        sockets: list[socket.socket] = []
        try:
            for _ in range(count or self.connections):
                sockets.append(socket.create_connection(("127.0.0.1", self.port), timeout=10))
                sockets[-1].settimeout(2)
            yield sockets
        finally:
            for sock in sockets:
                sock.close()

    def send_to_all(self, data: bytes, count: int | None = None, *, reads: bool = True) -> None:
        with self.open(count) as sockets:
            for sock in sockets:
                with suppress(OSError):
                    sock.sendall(data)
            if reads:
                for sock in sockets:
                    with suppress(OSError):
                        sock.recv(4096)


def refused_large_heads(attacker: Attacker) -> None:
    head = b"POST /v1/acp/x HTTP/1.1\r\n" + HOST + b"X: " + PADDING + b"\r\nContent-Length: 0\r\n\r\n"
    attacker.send_to_all(head)


def large_ids(attacker: Attacker) -> None:
    line = b"POST /v1/acp/" + PADDING[:50_000] + b" HTTP/1.1\r\n"
    attacker.send_to_all(line + HOST + b"Content-Length: 0\r\n\r\n")


def large_hosts_and_origins(attacker: Attacker) -> None:
    attacker.send_to_all(b"GET / HTTP/1.1\r\nHost: " + PADDING + b"\r\n\r\n")
    attacker.send_to_all(b"GET / HTTP/1.1\r\n" + HOST + b"Origin: https://" + PADDING + b"\r\n\r\n")


def unread_answers(attacker: Attacker) -> None:
    """Pipelined requests, the shortest ones and refused ones, without reading."""
    for request in (b"GET / HTTP/1.1\r\n\r\n", b"GET /v1/health HTTP/1.1\r\n" + HOST + b"\r\n"):
        with attacker.open(40) as sockets:
            block = request * (200_000 // len(request))
            for sock in sockets:
                sock.setblocking(False)
            while ready := select.select([], sockets, [], 0.5)[1]:
                for sock in ready:
                    with suppress(OSError):
                        sock.send(block)


def header_floods(attacker: Attacker) -> None:
    attacker.send_to_all(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 15_000, attacker.connections // 2, reads=False)


def trailers(attacker: Attacker) -> None:
    head = b"POST /v1/acp/x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    attacker.send_to_all(head + b"a: b\r\n" * 100_000, 30)


def tiny_chunks(attacker: Attacker) -> None:
    head = b"POST /v1/acp/x HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    attacker.send_to_all(head + b"1\r\nx\r\n" * 100_000, 30)


def slow_heads(attacker: Attacker) -> None:
    attacker.send_to_all(b"GET / HTTP/1.1\r\nX: " + PADDING[:30_000], reads=False)


def cut_connections(attacker: Attacker) -> None:
    request = b"POST /v1/acp/x HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n" + PADDING
    for _ in range(attacker.connections):
        attacker.send_to_all(request[: attacker.random.randint(1, len(request))], 1, reads=False)


def nonsense(attacker: Attacker) -> None:
    for _ in range(attacker.connections // 4):
        attacker.send_to_all(attacker.random.randbytes(20_000), 1)


def refused_upgrades(attacker: Attacker) -> None:
    """WebSocket handshakes without a token, to a terminal and to ACP's own transport."""
    for path in (b"/v1/processes/x/terminal/ws", b"/acp"):
        head = b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        head += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        attacker.send_to_all(head + b"Sec-WebSocket-Protocol: " + PADDING + b"\r\n\r\n")


def pages_and_preflights(attacker: Attacker) -> None:
    """What is answered without a token: pages, the API document, preflights."""
    for line in (b"GET /ui/?" + PADDING[:20_000], b"GET /docs", b"GET /openapi.json", b"OPTIONS /v1/acp/x"):
        headers = HOST + b"Access-Control-Request-Headers: " + PADDING[:20_000] + b"\r\n"
        attacker.send_to_all(line + b" HTTP/1.1\r\n" + headers + b"\r\n", attacker.connections // 4)


def refused_bodies(attacker: Attacker) -> None:
    """Bodies of refused requests, whole and cut, to both transports."""
    for path in (b"/v1/acp/x", b"/acp", b"/v1/fs/upload-batch"):
        head = b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"Content-Length: 2000000\r\n\r\n"
        attacker.send_to_all(head + b"x" * attacker.random.choice((1_000, 500_000, 2_000_000)), 30)


KINDS = [
    refused_large_heads,
    large_ids,
    large_hosts_and_origins,
    unread_answers,
    header_floods,
    trailers,
    tiny_chunks,
    slow_heads,
    cut_connections,
    nonsense,
    refused_upgrades,
    pages_and_preflights,
    refused_bodies,
]
