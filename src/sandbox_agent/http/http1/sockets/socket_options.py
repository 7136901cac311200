"""Options of the sockets of connections."""

from __future__ import annotations

import socket

from sandbox_agent.http.loopback import is_loopback

# Enough to keep a local reader busy. With the megabytes that the kernel would take, a reader that shares a
# processor with the server keeps it for milliseconds, and other readers wait.
_FILE_SEND_BUFFER_BYTES = 64 * 1024


def prepare(sock: socket.socket, peer: str) -> None:
    """Send small responses at once, and find out within two minutes that a client lost its network."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
        if is_loopback(peer):
            # Loopback has no congestion; reno is in every kernel and costs less per packet than BBR.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
    except OSError:
        pass  # The connection is gone, which reading tells; or the kernel has no reno.


def prepare_for_files(sock: socket.socket) -> None:
    """Limit what is on its way to a reader on this machine; across a network the kernel decides better."""
    try:
        peer = sock.getpeername()
        if peer and is_loopback(peer[0]):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _FILE_SEND_BUFFER_BYTES)
    except OSError:
        pass  # The connection is gone, which reading tells.
