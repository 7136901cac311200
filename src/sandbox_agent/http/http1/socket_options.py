"""What is asked of the kernel for the socket of a connection."""

from __future__ import annotations

import socket

from sandbox_agent.http.access import is_loopback

# With so much on its way a reader is kept busy, and falls asleep between two portions. With megabytes, which
# the kernel would take, it keeps its processor for milliseconds, and whoever shares that with it waits.
_REPLAY_BYTES = 64 * 1024


def prepare(sock: socket.socket, peer: str) -> None:
    """Small answers at once; and without probes a client that lost its network would stay for ever."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
        if is_loopback(peer):
            # No network, no congestion, but some systems reckon with it for every packet (BBR, say). This way
            # of doing so is part of every kernel, and does the least.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    except OSError:
        pass  # It is gone already, and reading from it will tell; or the last is not to be had here.


def prepare_for_replay(sock: socket.socket) -> None:
    """A replay to a reader on this machine leaves the processors to others now and then.

    Across a network the kernel knows better how much has to be on its way.
    """
    try:
        peer = sock.getpeername()
        if peer and is_loopback(peer[0]):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _REPLAY_BYTES)
    except OSError:
        pass  # As above.
