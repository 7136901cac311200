"""One HTTP/1.1 connection: requests are answered one after the other, within the time-outs.

The states, `ConnectionState`:

           first bytes              head complete              body complete
    IDLE ──────────────▶ READING_HEAD ──────────▶ READING_BODY ──────────▶ ANSWERING
     ▲                        │                        │                    │     │
     │    unreadable, too slow│                        │answered early      │     │answered,
     │                        └───────▶ LINGERING ◀────┘                    │     │last request
     │                                      │                               │     ▼
     │                                      │                               │  CLOSING
     │                                      └──────────▶ CLOSED ◀───────────│─────┘
     └───────────────────────── answered, keep-alive ───────────────────────┘

- A request that arrives as a whole goes from IDLE to ANSWERING directly.
- IDLE and READING_HEAD go to CLOSING when the keep-alive time is over or the server stops.
- Every state goes to CLOSED when the connection is lost, and through CLOSING when it is aborted.
- While a request is answered, reading stops as soon as one more request has been read (pipelining).
- While the client does not read its responses (`write_paused`), no further request is answered or read.
- LINGERING: the client still sends the body of a request that has been answered. The rest is read and thrown
  away for a while, because closing at once would reset the connection and could destroy the answer.
- CLOSING: what has been written is still being sent, nothing is read.
- ANSWERING goes to UPGRADED when the client gets a 101: the socket belongs to another protocol then.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from sandbox_agent.errors import RequestTimeout, SandboxAgentError
from sandbox_agent.http.http1.connection_timeouts import ConnectionTimeouts
from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.http1.incoming_request import IncomingRequest
from sandbox_agent.http.http1.request_head import UNREADABLE
from sandbox_agent.http.http1.request_reader import RequestReader
from sandbox_agent.http.http1.sockets.socket_transport import SocketTransport
from sandbox_agent.runtime.descriptors import ran_out

if TYPE_CHECKING:
    from socket import socket

    from sandbox_agent.http.http1.server import Http1Server


class ConnectionState(enum.Enum):
    IDLE = enum.auto()
    """Nothing of the next request has arrived."""
    READING_HEAD = enum.auto()
    """A part of a head has arrived."""
    READING_BODY = enum.auto()
    """A handler has the request; its body is arriving."""
    ANSWERING = enum.auto()
    """The whole request has arrived, its response has not ended."""
    LINGERING = enum.auto()
    """The response has ended before the request; the rest of the request is discarded."""
    CLOSING = enum.auto()
    """The last response is being sent."""
    CLOSED = enum.auto()
    UPGRADED = enum.auto()
    """Another protocol has taken over the socket."""


# Names of their own, because in Python 3.11 an access to a member through its class costs a function call.
_IDLE = ConnectionState.IDLE
_READING_HEAD = ConnectionState.READING_HEAD
_READING_BODY = ConnectionState.READING_BODY
_ANSWERING = ConnectionState.ANSWERING
_LINGERING = ConnectionState.LINGERING
_CLOSING = ConnectionState.CLOSING
_CLOSED = ConnectionState.CLOSED
_UPGRADED = ConnectionState.UPGRADED


class Connection:
    """The receiver of a `SocketTransport`."""

    def __init__(self, server: Http1Server, sock: socket) -> None:
        self.server = server
        self.options = server.options
        self._reader = RequestReader(
            server.options.max_header_bytes, caches_heads=server.options.on_response is None
        )
        self._exchange: Exchange | None = None
        """The request that is being answered."""
        self._state = _IDLE
        self._timeouts = ConnectionTimeouts(server.options)
        self.write_paused = False
        self._transport = SocketTransport(server.loop, sock, self, server.hangups)
        # Without effect once the connection is closing.
        self.write = self._transport.write
        self.write_pieces = self._transport.write_pieces
        self.write_file = self._transport.write_file

    @property
    def state(self) -> ConnectionState:
        return self._state

    @property
    def peer_address(self) -> tuple[str, int] | None:
        return self._transport.peer_address

    @property
    def own_address(self) -> tuple[str, int] | None:
        return self._transport.own_address

    def _enter(self, state: ConnectionState) -> None:
        if state is not self._state:
            self._state = state
            self._timeouts.state_since = None

    # ---- requests ----------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        state = self._state
        if state is _LINGERING:
            return
        self._reader.feed(data)
        if self._exchange is None:
            if not self.write_paused:
                self._begin_next()
        elif state is _READING_BODY:
            self._body_arrived(self._exchange)
        self.update_reading()

    def _begin_next(self) -> None:
        """Hand the next request to its handler, if one has been read."""
        reader = self._reader
        if reader.unread and not reader.requests:
            reader.read_on()
        if reader.requests and (reader.error is None or reader.requests[0].complete):
            request = reader.requests.popleft()
            self._exchange = exchange = Exchange(self, request)
            self._enter(_ANSWERING if request.complete else _READING_BODY)
            head = request.head
            if head.fault is not None:
                exchange.fail(head.fault)
                return
            try:  # The same as `run_guarded`, without a call more for every request.
                (head.handler or self.server.handler)(exchange)
            except Exception as error:
                exchange.fail(error)
        elif reader.error is not None:
            self.refuse(reader.error)
        else:
            self._enter(_READING_HEAD if reader.in_head else _IDLE)

    def _body_arrived(self, exchange: Exchange) -> None:
        if exchange.request.complete:
            self._enter(_ANSWERING)
        exchange.body_arrived()
        if self._reader.error is not None and not exchange.request.complete:
            exchange.cancel(self._reader.error)

    def refuse(self, error: SandboxAgentError) -> None:
        """Answer a request that cannot be read, or is not wanted; nothing after it is read either."""
        requests = self._reader.requests
        request = requests.popleft() if requests else IncomingRequest(UNREADABLE, None)
        self._exchange = exchange = Exchange(self, request)
        self._enter(_READING_BODY)
        exchange.fail(error)

    def exchange_ended(self, exchange: Exchange) -> None:
        """The response has been handed to the transport: decide what follows."""
        self._exchange = None
        if self._reader.candidate is not None:
            self._reader.cache_candidate()
        if self._state is _CLOSING or self._state is _CLOSED:
            return
        if not exchange.request.complete:
            self._enter(_LINGERING)
            self._transport.write_eof()
            self._transport.resume_reading()
        elif not exchange.keep_alive or self.server.stopping:
            self._close()
        else:
            reader = self._reader
            self._enter(_READING_HEAD if reader.in_head else _IDLE)
            if reader.requests or reader.unread or reader.error is not None:
                # In a turn of its own: pipelined requests must neither recurse nor keep others waiting.
                self.server.loop.call_soon(self._continue_pipeline)
            elif self.write_paused:
                self._transport.pause_reading()
            elif not self._transport.is_reading:
                self._transport.resume_reading()

    def _continue_pipeline(self) -> None:
        if self._exchange is None and not self.write_paused and self._state in (_IDLE, _READING_HEAD):
            self._begin_next()
            self.update_reading()

    def upgrade(self) -> tuple[Http1Server, SocketTransport, bytes]:
        """Leave the socket to another protocol; returns it, and what has arrived after the request.

        The caller tells the transport who receives from now on, and the server who takes this one's place.
        """
        self._enter(_UPGRADED)
        self._exchange, unread = None, self._reader.unread
        self._reader.close()
        self.server.connection_closed(self)
        return self.server, self._transport, unread

    # ---- flow control ------------------------------------------------------------------------------------

    def update_reading(self) -> None:
        """Read on, or let the client wait while there is no room for what it sends."""
        reader, exchange = self._reader, self._exchange
        if self._state is _LINGERING:
            return
        is_full = self.write_paused if exchange is None else exchange.request.size and exchange.is_full
        if reader.requests or reader.unread or reader.error is not None or is_full:
            self._transport.pause_reading()
        elif not self._transport.is_reading:
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._exchange is not None:
            self._exchange.writable()
        else:
            self._continue_pipeline()

    @property
    def is_awaited(self) -> bool:
        """A response has not ended, and the client has not closed its side of the connection.

        Requests without the token do not count: they do not keep a server running.
        """
        exchange = self._exchange
        return exchange is not None and not exchange.without_token and not self._transport.peer_finished

    def delivered(self) -> tuple[int, bool]:
        """The bytes that have reached the client, and whether others have not."""
        return self._transport.delivered()

    def release_descriptors(self, error: Exception) -> bool:
        """Make a few descriptors available if `error` may be that there is none; false if that is not so."""
        return ran_out(error) and self.server.loop.release_reserve()

    # ---- time-outs ---------------------------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """Called about once a second: end what takes too long."""
        if self._transport.stalled_s(now) > self.options.write_timeout_s:
            self._enter(_CLOSING)
            self._transport.reset()
            return
        state, timeouts, exchange = self._state, self._timeouts, self._exchange
        if state is _IDLE:
            if timeouts.keep_alive_over(now):
                self._close()
        elif state is _READING_HEAD:
            if timeouts.head_too_slow(now):
                self.refuse(RequestTimeout("the headers did not arrive in time"))
        elif state is _READING_BODY:
            if exchange is not None and timeouts.body_too_slow(now, exchange):
                exchange.cancel(RequestTimeout("the body did not arrive in time"))
        elif state is _ANSWERING:
            if exchange is not None and self._transport.peer_finished:
                exchange.probe_client()
        elif state is _LINGERING and timeouts.lingering_over(now):
            self.abort()

    # ---- the end -----------------------------------------------------------------------------------------

    def eof_received(self) -> bool:
        """The client sends no more; true if it still gets an answer."""
        exchange = self._exchange
        if self._state is _READING_BODY:
            self.abort()
        if self._state is not _ANSWERING or exchange is None or exchange.is_endless:
            return False
        exchange.keep_alive = False
        return True

    def peer_finished(self) -> None:
        """The client sends no more than what waits to be read; an endless response has lost its reader."""
        if self._exchange is not None and self._exchange.is_endless:
            self.abort()

    def leave_if_finished(self) -> None:
        """End the request if its client has closed its side already."""
        if self._transport.peer_finished:
            self.abort()

    def server_stops(self) -> None:
        if self._state in (_IDLE, _READING_HEAD) and not self._reader.requests:
            self._close()

    def _close(self) -> None:
        self._enter(_CLOSING)
        self._transport.close()

    def abort(self) -> None:
        """Break the connection: a response cannot be completed, or the client is too slow."""
        if self._state is not _CLOSED:
            self._enter(_CLOSING)
            self._transport.abort()

    def connection_lost(self) -> None:
        self._enter(_CLOSED)
        self.server.connection_closed(self)
        self._reader.close()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.disconnected()
