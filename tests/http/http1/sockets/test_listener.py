"""New connections: the socket options that are set before anything is read."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from sandbox_agent.http.http1.sockets import socket_options
from sandbox_agent.http.http1.sockets.listener import Listener
from sandbox_agent.runtime.loop import Loop


@pytest.fixture
def accepted() -> Iterator[list[socket.socket]]:
    sockets: list[socket.socket] = []
    yield sockets
    for sock in sockets:
        sock.close()


def test_a_local_connection_gets_nodelay_keepalive_and_reno(
    accepted: list[socket.socket],
) -> None:
    loop = Loop()
    listener = Listener(loop, "127.0.0.1", 0, accepted.append, socket.socket.close)
    with socket.create_connection(("127.0.0.1", listener.port), timeout=10):
        while not accepted:
            loop.turn(10)
    listener.close()
    sock = accepted[0]
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0") == b"reno"


def test_sending_files_to_a_local_reader_limits_what_is_under_way(
    accepted: list[socket.socket],
) -> None:
    """The reader's buffer has a fixed size: otherwise the kernel lets it grow with earlier connections."""
    loop = Loop()
    listener = Listener(loop, "127.0.0.1", 0, accepted.append, socket.socket.close)
    with socket.socket() as client:
        client.settimeout(10)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        client.connect(("127.0.0.1", listener.port))
        while not accepted:
            loop.turn(10)
        before = _sent_until_full(accepted[0])
        _read(client, before)
        socket_options.prepare_for_files(accepted[0])
        with_files = _sent_until_full(accepted[0])
    listener.close()
    assert with_files < 512 * 1024
    assert with_files * 2 < before


def _sent_until_full(sock: socket.socket) -> int:
    sent = 0
    try:
        while True:
            sent += sock.send(bytes(64 * 1024))
    except BlockingIOError:
        return sent


def _read(client: socket.socket, size: int) -> None:
    while size > 0:
        size -= len(client.recv(size))
