"""How much of what was written to a socket has reached the peer, from the kernel's TCP_INFO."""

from __future__ import annotations

import socket
import struct

# Offsets in `struct tcp_info` of linux/tcp.h.
_UNACKNOWLEDGED_PACKETS = 24
_ACKNOWLEDGED_BYTES = 120
_UNSENT_BYTES = 144
_SIZE = 148


def delivered(sock: socket.socket) -> tuple[int, bool]:
    """The bytes that the peer has acknowledged, and whether the kernel still holds some that it has not.

    Where the kernel does not tell (gVisor fills in a part), everything counts as acknowledged.
    """
    try:
        facts = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _SIZE).ljust(_SIZE, b"\0")
    except OSError:
        return 0, True  # The connection is gone, which reading tells.
    (unacknowledged,) = struct.unpack_from("I", facts, _UNACKNOWLEDGED_PACKETS)
    (acknowledged,) = struct.unpack_from("Q", facts, _ACKNOWLEDGED_BYTES)
    (unsent,) = struct.unpack_from("I", facts, _UNSENT_BYTES)
    return acknowledged, bool(unacknowledged or unsent)
