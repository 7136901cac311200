"""The listening sockets: one for each address of the host name, all on one port.

When no descriptor is left, new connections are accepted with the reserve of the loop and refused, so that
clients get an answer instead of waiting in the backlog.
"""

from __future__ import annotations

import errno
import socket
from time import monotonic
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.http.http1.sockets import socket_options
from sandbox_agent.runtime.descriptors import ran_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sandbox_agent.runtime.loop import Loop

logger = logs.Log("sandbox_agent.http")

_BACKLOG = 2048
# New connections accepted in one turn of the loop, before existing ones get theirs.
_ACCEPTS_AT_ONCE = 64
_OUT_OF_MEMORY = (errno.ENOBUFS, errno.ENOMEM)
# Accepting again at once would fail again and keep the processor busy.
_RETRY_S = 0.1
_LOG_INTERVAL_S = 10.0


class Listener:
    def __init__(
        self,
        loop: Loop,
        host: str,
        port: int,
        accepted: Callable[[socket.socket], object],
        refused: Callable[[socket.socket], object],
    ) -> None:
        """Listen. `refused` gets connections for which there is no descriptor. Raises OSError."""
        self._loop = loop
        self._accepted = accepted
        self._refused = refused
        self._log_next = 0.0
        self._sockets: list[socket.socket] = []
        self.port = port
        try:
            for family, address in _addresses(host, port):
                self._listen(family, address)
        except OSError:
            self.close()
            raise
        for sock in self._sockets:
            self._watch(sock)

    def _listen(self, family: int, address: tuple[Any, ...]) -> None:
        sock = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.append(sock)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((address[0], self.port, *address[2:]))
        sock.listen(_BACKLOG)
        sock.setblocking(False)
        self.port = sock.getsockname()[1]

    def _watch(self, sock: socket.socket) -> None:
        if sock in self._sockets:
            self._loop.add_reader(sock.fileno(), lambda: self._accept(sock))

    def _accept(self, listening: socket.socket) -> None:
        try:
            self._take_waiting(listening, self._accepted, _ACCEPTS_AT_ONCE)
        except OSError as error:
            if not ran_out(error):
                raise
            self._log_exhaustion(error)
            if not self._loop.release_reserve():
                self._retry_later(listening)
                return
            # One only: for the next one there may be a descriptor again.
            self._take_waiting(listening, self._refused, 1)
            self._loop.refill_reserve()

    def _take_waiting(
        self, listening: socket.socket, take: Callable[[socket.socket], object], most: int
    ) -> None:
        for _ in range(most):
            try:
                sock, peer = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_MEMORY:
                    raise
                self._log_exhaustion(error)
                self._retry_later(listening)
                return
            sock.setblocking(False)
            socket_options.prepare(sock, peer[0])
            take(sock)

    def _retry_later(self, listening: socket.socket) -> None:
        self._loop.remove_reader(listening.fileno())
        self._loop.call_later(_RETRY_S, self._watch, listening)

    def _log_exhaustion(self, error: OSError) -> None:
        now = monotonic()
        if now >= self._log_next:
            self._log_next = now + _LOG_INTERVAL_S
            logger.error("server.exhausted", error=str(error))

    def close(self) -> None:
        for sock in self._sockets:
            self._loop.remove_reader(sock.fileno())
            sock.close()
        self._sockets.clear()


def _addresses(host: str, port: int) -> list[tuple[int, tuple[Any, ...]]]:
    """Family and address of everything that the name resolves to."""
    # With bytes, getaddrinfo does not load the IDNA codec, which takes ten milliseconds.
    name = host.encode() if host.isascii() else host
    found = socket.getaddrinfo(name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))
