"""The socket of one connection: reads when there is something, writes without copying what must wait.

A transport in asyncio's sense with the few methods that `Connection` uses, and `write_file`. All calls come
from the event loop; `connection_lost` is called once, and never from within another call.
"""

from __future__ import annotations

import os
from collections import deque
from socket import SHUT_WR, SO_ERROR, SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.http.http1.sockets import socket_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from socket import socket
    from typing import Any, Protocol

    from sandbox_agent.http.http1.sockets.hangup_watch import HangupWatch
    from sandbox_agent.runtime.loop import Loop

    class Receiver(Protocol):
        """Gets what happens on the socket."""

        def data_received(self, data: bytes) -> None: ...

        def eof_received(self) -> bool:
            """The peer sends no more; true if the socket stays open for writing."""

        def peer_finished(self) -> None:
            """The peer sends no more, but what it has sent has not been read."""

        def pause_writing(self) -> None: ...

        def resume_writing(self) -> None: ...

        def connection_lost(self) -> None: ...


logger = logs.Log("sandbox_agent.http")

# Larger than common requests, and below the 128 KiB from which on malloc asks the kernel for memory.
_READ_BYTES = 120 * 1024
_HIGH_WATER, _LOW_WATER = 256 * 1024, 64 * 1024
# Limits of one system call, so that other connections get their turn.
_PIECES_PER_WRITE = 64
_FILE_BYTES_PER_WRITE = 64 * 1024
# `struct linger` with a time of zero.
_NO_LINGER = b"\1\0\0\0\0\0\0\0"


class SocketTransport:
    __slots__ = (
        "_closing",
        "_eof_wanted",
        "_fd",
        "_full",
        "_hangups",
        "_loop",
        "_receiver",
        "_sends_files",
        "_sock",
        "_stalled_since",
        "_waiting",
        "_waiting_bytes",
        "is_reading",
        "peer_finished",
    )

    def __init__(self, loop: Loop, sock: socket, receiver: Receiver, hangups: HangupWatch) -> None:
        self._loop = loop
        self._hangups = hangups
        self._sock = sock
        self._fd = sock.fileno()
        self._receiver = receiver
        self.is_reading = False
        self._closing = False
        self.peer_finished = False
        self._eof_wanted = False
        self._waiting: deque[memoryview | FileRange] = deque()
        self._waiting_bytes = 0
        self._full = False
        self._stalled_since: float | None = None
        self._sends_files = False
        self.resume_reading()

    def hand_over(self, receiver: Receiver) -> None:
        """Tell `receiver` what happens from now on."""
        self._receiver = receiver

    # ---- reading -----------------------------------------------------------------------------------------

    def resume_reading(self) -> None:
        if not self.is_reading and not self._closing:
            self.is_reading = True
            self._hangups.forget(self._fd)
            self._loop.add_reader(self._fd, self._on_readable)

    def pause_reading(self) -> None:
        """Read nothing for a while, but notice that the peer leaves."""
        if self.is_reading:
            self._stop_reading()
            self._hangups.watch(self._fd, self._on_hangup, only_reset=self.peer_finished)

    def _stop_reading(self) -> None:
        self._hangups.forget(self._fd)
        if self.is_reading:
            self.is_reading = False
            self._loop.remove_reader(self._fd)

    def _on_readable(self) -> None:
        try:
            if data := self._sock.recv(_READ_BYTES):
                self._receiver.data_received(data)
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.abort()
            return
        except Exception:
            logger.exception("connection.failed")
            self.abort()
            return
        if self._receiver.eof_received():
            self.peer_finished = True
            self.pause_reading()
        else:
            self.close()

    def _on_hangup(self) -> None:
        if self.peer_finished or self._sock.getsockopt(SOL_SOCKET, SO_ERROR):
            self.abort()
        else:
            self.peer_finished = True
            self._hangups.watch(self._fd, self._on_hangup, only_reset=True)
            self._receiver.peer_finished()

    # ---- writing -----------------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send, or keep what the socket does not take now; `data` must not change afterwards."""
        if self._closing:
            return
        sent = 0
        if not self._waiting:
            try:
                sent = self._sock.send(data)
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self.abort()
                return
            if sent == len(data):
                return
        self._keep(memoryview(data)[sent:])

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Send the pieces one after the other, without joining them first."""
        if self._closing:
            return
        sent = 0
        if not self._waiting:
            try:
                sent = self._sock.sendmsg(pieces)
            except (BlockingIOError, InterruptedError):
                pass
            except OSError:
                self.abort()
                return
        for piece in pieces:
            if sent >= len(piece):
                sent -= len(piece)
            else:
                self._keep(memoryview(piece)[sent:])
                sent = 0

    def write_file(self, file_range: FileRange) -> None:
        """Send a range of a file; the kernel copies it when the socket has room."""
        if self._closing:
            return
        if not self._sends_files:
            self._sends_files = True
            socket_options.prepare_for_files(self._sock)
        self._keep(file_range)

    def _keep(self, data: memoryview | FileRange) -> None:
        if not self._waiting:
            self._loop.add_writer(self._fd, self._on_writable)
        self._waiting.append(data)
        self._waiting_bytes += data.size if isinstance(data, FileRange) else len(data)
        if self._waiting_bytes > _HIGH_WATER and not self._full:
            self._full = True
            self._receiver.pause_writing()

    def _on_writable(self) -> None:
        waiting = self._waiting
        try:
            sent = self._send_file(waiting[0]) if isinstance(waiting[0], FileRange) else self._send_pieces()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.abort()
            return
        self._waiting_bytes -= sent
        self._stalled_since = None
        if not waiting:
            self._loop.remove_writer(self._fd)
            if self._eof_wanted:
                self._send_eof()
            if self._closing:
                self._end_soon()
        if self._full and self._waiting_bytes <= _LOW_WATER and not self._closing:
            self._full = False
            self._receiver.resume_writing()

    def _send_pieces(self) -> int:
        """Send what waits before the next file; returns how many bytes the socket took."""
        pieces: list[memoryview] = []
        for piece in self._waiting:
            if isinstance(piece, FileRange) or len(pieces) == _PIECES_PER_WRITE:
                break
            pieces.append(piece)
        sent = left = self._sock.sendmsg(pieces)
        for piece in pieces:
            if left < len(piece):
                self._waiting[0] = piece[left:]
                break
            left -= len(piece)
            self._waiting.popleft()
        return sent

    def _send_file(self, file_range: FileRange) -> int:
        size = min(file_range.size, _FILE_BYTES_PER_WRITE)
        sent = os.sendfile(self._fd, file_range.file.fd, file_range.offset, size)
        if not sent:
            raise OSError("the spill file is shorter than it was written")
        if sent == file_range.size:
            self._waiting.popleft()
        else:
            self._waiting[0] = file_range.without(sent)
        return sent

    def write_eof(self) -> None:
        """Shut down the sending side after what waits; the peer may go on sending."""
        self._eof_wanted = True
        if not self._waiting:
            self._send_eof()

    def _send_eof(self) -> None:
        try:
            self._sock.shutdown(SHUT_WR)
        except OSError:
            pass  # The peer has closed the connection already.

    def stalled_s(self, now: float) -> float:
        """For how long the peer has taken nothing of what waits, counted from the first call that saw it."""
        if not self._waiting:
            return 0.0
        if self._stalled_since is None:
            self._stalled_since = now
        return now - self._stalled_since

    def delivered(self) -> tuple[int, bool]:
        """The bytes that have reached the peer, and whether others wait here or in the kernel."""
        from sandbox_agent.http.http1.sockets.delivery import delivered  # only with --lease-s

        acknowledged, waits_in_kernel = delivered(self._sock)
        return acknowledged, waits_in_kernel or bool(self._waiting)

    # ---- the end -----------------------------------------------------------------------------------------

    @property
    def peer_address(self) -> tuple[str, int] | None:
        """Host and port of the client; None when the connection is gone."""
        return _address(self._sock.getpeername)

    @property
    def own_address(self) -> tuple[str, int] | None:
        return _address(self._sock.getsockname)

    def close(self) -> None:
        """Close when everything that waits has been sent."""
        if not self._closing:
            self._stop_reading()
            self._closing = True
            if not self._waiting:
                self._end_soon()

    def abort(self) -> None:
        """Close now."""
        self._stop_reading()
        if self._waiting:
            self._waiting.clear()
            self._waiting_bytes = 0
            self._loop.remove_writer(self._fd)
        elif self._closing:
            return  # `_end` is scheduled.
        self._closing = True
        self._end_soon()

    def reset(self) -> None:
        """Close now; the kernel drops what it has not sent, instead of keeping it for a silent peer."""
        try:
            self._sock.setsockopt(SOL_SOCKET, SO_LINGER, _NO_LINGER)
        except OSError:
            pass  # The connection is gone.
        self.abort()

    def _end_soon(self) -> None:
        self._loop.call_soon(self._end)

    def _end(self) -> None:
        self._sock.close()
        receiver = self._receiver
        # The receiver refers to this object: both are freed at once, without the garbage collector.
        del self._receiver
        receiver.connection_lost()


def _address(name: Callable[[], Any]) -> tuple[str, int] | None:
    try:
        address = name()
        return address[0], address[1]
    except (OSError, IndexError):
        return None
