"""Messages between a WebSocket and the agent of its connection, one JSON-RPC message per text frame.

A client may also send its messages as binary frames, as `use-acp` does; a binary frame that is no JSON object
is ignored.

Callbacks instead of tasks, as in `SseReceiver`: `changed` is called when the client has sent something, can
take more or has left, and the cursor calls when the agent has written. Every frame is an event of the log, so
the number of frames that a client has received is the position at which it resumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import jsonrpc_error_codes as codes
from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc import routing_fields
from sandbox_agent.errors import Conflict, InvalidRequest, SandboxAgentError
from sandbox_agent.http.acp import post as acp_post
from sandbox_agent.http.acp.reply import as_json_rpc
from sandbox_agent.http.websocket import (
    GOING_AWAY,
    INTERNAL_ERROR,
    NO_STATUS,
    NORMAL,
    POLICY,
    PROTOCOL_ERROR,
    TOO_BIG,
)
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from sandbox_agent.bridge.jsonrpc.envelope import Envelope
    from sandbox_agent.http.acp_remote.websocket.socket_connection import SocketConnection
    from sandbox_agent.http.services import Services

    class Socket(Protocol):
        """A WebSocket: `WebSocketConnection` of `http1`, or `AsgiSocket`."""

        @property
        def is_open(self) -> bool: ...

        @property
        def can_write(self) -> bool: ...

        @property
        def close_code(self) -> tuple[int, str]: ...

        def take(self) -> str | bytes | None:
            """The next message of the client; None if there is none now."""

        def send_texts(self, messages: Iterable[bytes]) -> None: ...

        def close(self, code: int, reason: str = "") -> None: ...


_PRIVATE_CODES = range(3000, 5000)


class SocketReceiver:
    def __init__(self, services: Services, connection: SocketConnection, after: int) -> None:
        """Attach to the connection after event `after`, in place of another receiver.

        Raises TooManyStreams, and Conflict if events after `after` are not retained.
        """
        log = connection.log
        if not log.oldest - 1 <= after <= log.last:
            raise Conflict(f"after={after}: messages {log.oldest} to {log.last} can be sent")
        self._services = services
        self._connection = connection
        self._cursor = services.streams.attach(log, after, self.pump)
        self._is_scanning = False
        self._is_reading = False
        self._ended = False
        self.socket: Socket
        """Set before anything can be sent or received."""
        connection.attached()
        before, connection.receiver = connection.receiver, self
        if before is not None:
            before.replace()

    # ---- from the client ---------------------------------------------------------------------------------

    def changed(self) -> None:
        """The client has sent something, can take more, or has left."""
        while not self._ended and not self._is_scanning and (message := self.socket.take()) is not None:
            body = message.encode() if isinstance(message, str) else message
            if isinstance(message, str) or body.lstrip().startswith(b"{"):
                self._receive(body)
        if not self.socket.is_open:
            self._left()
        else:
            self.pump()

    def _receive(self, body: bytes) -> None:
        if len(body) > self._services.settings.max_message_bytes:  # an ASGI server may have another limit
            self._close(TOO_BIG, "the message is too long")
            return
        try:
            message = acp_post.peek_body(body)
        except InvalidRequest as error:
            self._refuse(codes.PARSE_ERROR, error)
            return
        if message is not None:
            self._send(message, body)
            return

        def scanned(message: Envelope | None, error: BaseException | None) -> None:
            self._is_scanning = False
            if message is not None:
                self._send(message, body)
            else:
                self._refuse(codes.PARSE_ERROR, InvalidRequest(str(error)))
            self.changed()

        self._is_scanning = True
        running_loop.in_thread(lambda: envelopes.peek_in_thread(body), scanned)

    def _send(self, message: Envelope, body: bytes) -> None:
        is_object, raw_id, has_method = message
        if not is_object:
            self._refuse(codes.INVALID_REQUEST, InvalidRequest("a message is one JSON-RPC object"))
            return
        connection = self._connection
        if not connection.is_initialized:
            if not raw_id or routing_fields.read(body).method != "initialize":
                self._close(PROTOCOL_ERROR, "the first message must be initialize")
                self._services.remote_connections.end(connection)
                return
            connection.is_initialized = True
        line = acp_post.as_one_line(body)
        try:
            if raw_id and has_method:
                connection.call(raw_id, line)
            else:
                connection.instance.forward(raw_id, line, _ignore, None)
        except Conflict as error:
            self._refuse(codes.INVALID_REQUEST, error)  # the id is that of another request
        except SandboxAgentError as error:
            if raw_id and has_method:
                connection.log.publish_line(as_json_rpc(raw_id, error))

    def _refuse(self, code: int, error: SandboxAgentError) -> None:
        """Answer a message that cannot be forwarded, with id null."""
        self._connection.log.publish_line(as_json_rpc(b"null", error, code))

    # ---- to the client -----------------------------------------------------------------------------------

    def pump(self) -> None:
        """Send what there is."""
        while not self._ended and not self._is_reading and self.socket.can_write:
            item = self._cursor.take()
            if item is None:
                if self._cursor.ended:
                    self._close(GOING_AWAY if self._services.stopping else NORMAL, "")
                elif self._connection.has_ended and self._cursor.position > self._connection.log.last:
                    self._close(INTERNAL_ERROR, "the agent has exited")
                return
            if isinstance(item, Gap):
                self._close(POLICY, "the client is too slow: messages are not retained any more")
            elif isinstance(item, FileRange):
                self._read(item)
            else:
                self.socket.send_texts(line for _, line in sse_frames.lines_of(item.pieces))

    def _read(self, item: FileRange) -> None:
        def ready(data: bytes | None, _: BaseException | None) -> None:
            self._is_reading = False
            if self._ended:
                return
            if data is None:
                self._close(INTERNAL_ERROR, "messages cannot be read")
                return
            self.socket.send_texts(line for _, line in sse_frames.lines_of([data]))
            self.pump()

        self._is_reading = True
        running_loop.in_thread(item.read, ready)

    # ---- end ---------------------------------------------------------------------------------------------

    def replace(self) -> None:
        self._close(POLICY, "another client has taken over the connection")

    def _close(self, code: int, reason: str) -> None:
        """Close from this side; the agent is kept for a client that comes back."""
        if not self._ended:
            self._detach()
            self.socket.close(code, reason)
            self._connection.detached()

    def _left(self) -> None:
        """The client has left: a close frame ends the connection, a lost client may come back."""
        if self._ended:
            return
        self._detach()
        code, _ = self.socket.close_code
        if code in (NORMAL, GOING_AWAY, NO_STATUS) or code in _PRIVATE_CODES:
            self._services.remote_connections.end(self._connection)
        else:
            self._connection.detached()

    def _detach(self) -> None:
        self._ended = True
        self._services.streams.detach(self._cursor)
        if self._connection.receiver is self:
            self._connection.receiver = None


def _ignore(_: object) -> None:
    """What becomes of a message that is not answered is not reported."""
