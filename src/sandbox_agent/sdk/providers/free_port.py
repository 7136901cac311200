"""Ports of this machine that no program listens on."""

from __future__ import annotations

import errno
import socket


def free_port(host: str) -> int:
    with _bound_socket(host, 0) as probe:
        return int(probe.getsockname()[1])


def port_in_use(host: str, port: int) -> bool:
    try:
        _bound_socket(host, port).close()
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def _bound_socket(host: str, port: int) -> socket.socket:
    probe = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        # As servers do: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((host, port))
    except BaseException:
        probe.close()
        raise
    return probe
