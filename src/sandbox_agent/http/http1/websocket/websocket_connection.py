"""A connection that was upgraded to the WebSocket protocol (RFC 6455).

`websockets`' sans-I/O `ServerProtocol` reads and writes the frames; this class joins them to messages, keeps
what the application has not taken yet, and sends pings. Flow control goes both ways: the peer is not read
while more than 1 MiB of its messages wait, and `can_write` is false while it does not read.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from websockets.frames import Frame, Opcode
from websockets.protocol import SEND_EOF, State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from websockets.server import ServerProtocol

    from sandbox_agent.http.http1.server import Http1Server
    from sandbox_agent.http.http1.sockets.socket_transport import SocketTransport

# Above this size of messages that the application has not taken, reading pauses. Below it, pings and close
# frames are answered while the application is busy with a few messages.
_HIGH_WATER = 1024 * 1024
# What a message costs beside its bytes.
_MESSAGE_BYTES = 128
# How long the peer may take to answer a close frame.
_CLOSE_S = 5.0
# RFC 6455, 7.4.1.
NO_STATUS, ABNORMAL, GOING_AWAY, INVALID_DATA = 1005, 1006, 1001, 1007


class WebSocketConnection:
    """The receiver of the `SocketTransport` that an HTTP/1.1 connection has left to it."""

    def __init__(
        self,
        server: Http1Server,
        transport: SocketTransport,
        protocol: ServerProtocol,
        changed: Callable[[], None],
    ) -> None:
        """`changed` is called when a message can be taken, more can be written, or all has ended."""
        self._server = server
        self._transport = transport
        self._protocol = protocol
        self._changed = changed
        self._messages: deque[str | bytes] = deque()
        self._waiting_bytes = 0
        self._fragments = bytearray()
        self._is_text = False
        self._last_heard = server.loop.time()
        self._is_pinged = False
        self._late_pong = b""
        """The answer to the last ping that came while the peer did not read."""
        self._close_since: float | None = None
        self._own_close: tuple[int, str] | None = None
        self.is_open = True
        self.can_write = True
        self.is_reading = True
        transport.hand_over(self)
        server.connection_opened(self)

    def begin(self, head: bytes, received: bytes) -> None:
        """Send the 101 response and read on, after what was received with the request."""
        self._transport.write(head)
        if received:
            self.data_received(received)
        if self.is_reading:
            self._transport.resume_reading()

    # ---- the application's side --------------------------------------------------------------------------

    def take(self) -> str | bytes | None:
        """The next message of the client; None if there is none now."""
        if not self._messages:
            return None
        message = self._messages.popleft()
        self._waiting_bytes -= len(message) + _MESSAGE_BYTES
        self._update_reading()
        return message

    def send(self, message: str | bytes) -> None:
        """Send a message; without effect when the connection is closing."""
        if self._protocol.state is State.OPEN:
            if isinstance(message, str):
                self._protocol.send_text(message.encode())
            else:
                self._protocol.send_binary(message)
            self._flush()

    def send_texts(self, messages: Iterable[bytes]) -> None:
        """Send text messages that are encoded already, in one write."""
        if self._protocol.state is State.OPEN:
            for message in messages:
                self._protocol.send_text(message)
            self._flush()

    def close(self, code: int, reason: str = "") -> None:
        """Send a close frame; the connection ends with the client's answer, or after five seconds."""
        if self._protocol.state is State.OPEN:
            self._own_close = code, reason
            if code == NO_STATUS:
                self._protocol.send_close()
            else:
                self._protocol.send_close(code, reason)
            self._drop_messages()
            self._flush()

    @property
    def close_code(self) -> tuple[int, str]:
        """Why the connection has ended: the close frame that came first, or 1006 without one."""
        received = self._protocol.close_rcvd
        if self._own_close is not None:
            return self._own_close
        return (received.code, received.reason) if received is not None else (ABNORMAL, "")

    # ---- Receiver ----------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self._last_heard, self._is_pinged = self._server.loop.time(), False
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._frame_received(event)
        self._answer()
        self._update_reading()
        if self._messages:
            self._changed()

    def _frame_received(self, frame: Frame) -> None:
        if self._own_close is not None or frame.opcode in (Opcode.PING, Opcode.PONG, Opcode.CLOSE):
            return
        if frame.opcode is not Opcode.CONT:
            self._is_text = frame.opcode is Opcode.TEXT
            if frame.fin:
                self._message_received(bytes(frame.data))
                return
        # Fragments are joined as they arrive: a Frame object of one byte takes hundreds of bytes.
        self._fragments += frame.data
        if frame.fin:
            data, self._fragments = bytes(self._fragments), bytearray()
            self._message_received(data)

    def _message_received(self, data: bytes) -> None:
        message: str | bytes = data
        if self._is_text:
            try:
                message = data.decode()
            except UnicodeDecodeError:
                self._own_close = INVALID_DATA, "not UTF-8"
                self._protocol.fail(*self._own_close)
                return
        self._messages.append(message)
        self._waiting_bytes += len(message) + _MESSAGE_BYTES

    def eof_received(self) -> bool:
        self._protocol.receive_eof()
        return False

    def peer_finished(self) -> None:
        pass  # What it has sent is read when there is room for it.

    def pause_writing(self) -> None:
        self.can_write = False

    def resume_writing(self) -> None:
        self.can_write = True
        if self._late_pong and self._protocol.state is State.OPEN:
            self._transport.write(self._late_pong)
        self._late_pong = b""
        self._changed()

    def connection_lost(self) -> None:
        self.is_open = False
        self._server.connection_closed(self)
        self._changed()
        del self._changed  # It refers to this object.

    # ---- frames to the socket ----------------------------------------------------------------------------

    def _answer(self) -> None:
        """Send what the frames of the peer demand: pongs, or the end.

        While the peer does not read, only the last pong is kept, as RFC 6455 (5.5.3) allows: pings that are
        sent without reading would fill the memory.
        """
        if self.can_write or self._protocol.state is not State.OPEN:
            self._flush()
        elif pongs := self._protocol.data_to_send():
            self._late_pong = pongs[-1]

    def _flush(self) -> None:
        """Send what the protocol has made; its end of the stream closes the connection.

        A peer that has not closed may still be sending, a message that is too long for example. Closing the
        socket then would reset the connection and destroy the close frame, so what comes is read and
        discarded until the peer closes, for five seconds at most.
        """
        pieces = self._protocol.data_to_send()
        ends = SEND_EOF in pieces
        pieces = [piece for piece in pieces if piece]
        if len(pieces) > 1:
            self._transport.write(b"".join(pieces))
        elif pieces:
            self._transport.write(pieces[0])
        if ends and self._protocol.close_rcvd is None:
            self._transport.write_eof()
        elif ends:
            self._transport.close()

    def _update_reading(self) -> None:
        wanted = self._waiting_bytes <= _HIGH_WATER
        if wanted != self.is_reading:
            self.is_reading = wanted
            if wanted:
                self._last_heard = self._server.loop.time()
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _drop_messages(self) -> None:
        self._messages.clear()
        self._waiting_bytes = 0
        self._update_reading()

    # ---- time --------------------------------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """Ping a silent client; end what takes too long."""
        options = self._server.options
        if self._transport.stalled_s(now) > options.write_timeout_s:
            self._transport.reset()
        elif self._protocol.state is not State.OPEN:
            self._close_since = self._close_since or now
            if now - self._close_since > _CLOSE_S:
                self.abort()
        elif self.is_reading and now - self._last_heard > options.websocket_ping_s:
            if now - self._last_heard > 2 * options.websocket_ping_s:
                self.abort()
            elif not self._is_pinged and self.can_write:
                self._is_pinged = True
                self._protocol.send_ping(b"")
                self._flush()

    @property
    def is_awaited(self) -> bool:
        return self.is_open and not self._transport.peer_finished

    def delivered(self) -> tuple[int, bool]:
        return self._transport.delivered()

    def server_stops(self) -> None:
        self.close(GOING_AWAY, "the server is shutting down")

    def abort(self) -> None:
        self._transport.abort()
