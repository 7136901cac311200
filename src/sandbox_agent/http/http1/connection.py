"""One HTTP/1.1 connection: answer its requests in order, keep to the limits.

Its `Intake` makes requests of bytes, `dispatch` finds out who answers them. A refused request is answered
even while its body is still coming in: the rest is read and thrown away until the client is done.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sandbox_agent.errors import RequestTimeout, SandboxAgentError
from sandbox_agent.http.http1 import dispatch
from sandbox_agent.http.http1.heads import RequestHead
from sandbox_agent.http.http1.intake import Intake
from sandbox_agent.http.http1.quick_exchange import Exchange
from sandbox_agent.http.http1.socket_transport import SocketTransport

if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import socket

    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.http.http1.server import HttpServer

# A connection whose request was refused is drained for this long before it is cut.
_LINGER_S = 30.0
_BODY_WINDOW_BYTES = 64 * 1024
# Idle since the last look at the clock; exact to a second, which is how often that happens.
_NOT_YET_SEEN = float("inf")
# Stands in for the head of something that could not be understood.
_NO_HEAD = RequestHead("GET", b"/", [], http_10=False, keep_alive=False)


class Connection:
    def __init__(self, server: HttpServer, sock: socket) -> None:
        self._server = server
        self._settings = server.services.settings
        self.active: Exchange | None = None
        """The request that is being answered."""
        self.waiting: deque[Exchange] = deque()
        """Those that came after it."""
        self._reading_paused = False
        self._since = server.now()
        """When the state that can time out began: idle, head, body window or lingering."""
        self.write_paused = False
        self.closed = False
        self.is_deaf = False
        """What still comes in is of no interest: the connection has ended, or lingers until it may."""
        self._transport = SocketTransport(server.loop, sock, self)
        self._intake = Intake(self, server, self._transport)
        self.data_received = self._intake.data_received
        self.filled = self._intake.filled
        # After the end of the connection these do nothing.
        self.write: Callable[[bytes], None] = self._transport.write
        self.writelines: Callable[[list[bytes]], None] = self._transport.writelines
        self.write_stored: Callable[[FileRange], None] = self._transport.write_stored
        server.connections.add(self)

    # ---- socket_transport.Receiver -----------------------------------------------------------------------

    def connection_lost(self) -> None:
        self.closed = self.is_deaf = True
        self._server.forget(self)
        for exchange in (self.active, *self.waiting):
            if exchange is not None:
                exchange.disconnected()
        self.active = None
        self.waiting.clear()
        self._intake.close()

    def eof_received(self) -> bool:
        if self.is_deaf or self.is_idle or (self.active is not None and self.active.is_stream):
            return False
        # Half-closed by a client that still reads: its request is answered, then the connection ends.
        for exchange in (self.active, *self.waiting):
            if exchange is not None:
                exchange.keep_alive = False
                if not exchange.complete:
                    self._transport.abort()
                    return False
        return True

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self.active is not None:
            self.active.writable()

    @property
    def is_idle(self) -> bool:
        return self.active is None and not self.waiting

    # ---- one request after the other ---------------------------------------------------------------------

    def advance(self) -> None:
        """Begin the next request, if none is being answered."""
        while self.active is None and self.waiting and not self.is_deaf:
            self.active = self.waiting.popleft()
            dispatch.begin(self.active, self._server)

    def done(self, exchange: Exchange) -> None:
        """The answer has been written."""
        self.active = None
        self._since = _NOT_YET_SEEN
        if self.closed:
            return
        if not exchange.complete:
            self._linger()
        elif not exchange.keep_alive or self._server.stopping:
            self._transport.close()
        elif self.waiting:
            self._server.loop.call_soon(self.advance)
        elif not self._reading_paused:
            return
        self.update_reading()

    # ---- writing and flow --------------------------------------------------------------------------------

    def abort(self) -> None:
        """Break the connection: the answer cannot be completed."""
        self._transport.abort()

    def close_if_idle(self) -> None:
        if self.is_idle:
            self._transport.close()

    def update_reading(self) -> None:
        """Read on, or let the client wait, as the room for what it sends demands."""
        if self.closed or self._transport.is_closing:
            return
        full = not self.is_deaf and (
            len(self.waiting) > 0 or (self.active is not None and self.active.is_full)
        )
        if full != self._reading_paused:
            self._reading_paused = full
            (self._transport.pause_reading if full else self._transport.resume_reading)()

    def refuse(self, error: SandboxAgentError) -> None:
        """What comes in is no request we could go on after: say so and end."""
        if self.active is not None:
            # Answers of earlier requests come first; this one will never be understood.
            self.active.keep_alive = False
            return
        exchange = self._intake.arriving or Exchange(self, self._server, _NO_HEAD, None)
        exchange.complete = False
        self.waiting.clear()
        self.active = exchange
        exchange.refuse(error)

    def _linger(self) -> None:
        self.is_deaf = True
        self.time_from_now()
        self.update_reading()
        self._transport.write_eof()

    def time_from_now(self) -> None:
        """Something begins that may take only so long."""
        self._since = self._server.now()

    def check_time(self, now: float) -> None:
        """Called about once a second: end what takes too long."""
        if self._since == _NOT_YET_SEEN:
            self._since = now
        elapsed = now - self._since
        if self.is_deaf:
            if elapsed > _LINGER_S:
                self._transport.abort()
        elif self.active is not None:
            self._check_body_pace(self.active, now)
        elif self._intake.in_message:
            if elapsed > self._settings.request_timeout_ms / 1000:
                self.refuse(RequestTimeout("the headers did not arrive in time"))
        elif elapsed > self._settings.keep_alive_ms / 1000:
            self._transport.close()

    def _check_body_pace(self, active: Exchange, now: float) -> None:
        """A body must bring 64 KiB, or its end, in every period."""
        if active.complete or active.is_full or now - self._since <= self._settings.request_timeout_ms / 1000:
            return
        if self._intake.window_bytes >= _BODY_WINDOW_BYTES:
            self._intake.window_bytes = 0
            self._since = now
        else:
            active.too_slow(RequestTimeout("the body did not arrive in time"))
