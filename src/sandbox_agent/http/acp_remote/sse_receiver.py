"""Writes one stream of a connection to a client as server-sent events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.event_reader import read_window
from sandbox_agent.errors import Conflict
from sandbox_agent.http import sse
from sandbox_agent.http.acp.accept import check_accept
from sandbox_agent.http.acp.stream import read_last_event_id
from sandbox_agent.http.acp_remote.session_header import read_session_id
from sandbox_agent.http.sinks.step_guard import run_guarded
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.bridge.eventlog.event_reader import Window
    from sandbox_agent.http.acp_remote.http_connection import HttpConnection
    from sandbox_agent.http.acp_remote.message_stream import MessageStream
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.sinks.response_sink import ResponseSink

# After this many bytes in one turn of the loop, other connections get theirs.
_FAIR_BYTES = 1024 * 1024


def find_stream(
    services: Services, headers: Mapping[bytes, bytes]
) -> tuple[HttpConnection, MessageStream, int | None]:
    """The stream that a GET names, and the position after which it begins. Raises what refuses it."""
    check_accept(headers, sse.MEDIA_TYPE)
    connection = services.remote_connections.http(headers)
    session = read_session_id(headers)
    after = read_last_event_id(headers)
    router = connection.router
    stream = router.session_stream(session) if session else router.connection
    if stream.receiver is not None and after is None:
        # With Last-Event-ID the client knows what it has; a cut connection may not have been noticed here.
        raise Conflict("the stream has a receiver; send Last-Event-ID to take it over")
    return connection, stream, after


class SseReceiver:
    """The receiver of a `MessageStream`; a `ResponseWriter`."""

    def __init__(
        self,
        sink: ResponseSink,
        services: Services,
        connection: HttpConnection,
        stream: MessageStream,
        after: int | None,
        headers: HeaderList,
    ) -> None:
        """Begin the response; `after` is the position that the client has, if it says so.

        Raises TooManyStreams.
        """
        self._sink = sink
        self._services = services
        self._connection = connection
        self._stream = stream
        self._loop = running_loop.running_loop()
        self._window: Window = {}
        self._is_reading = False
        self._ended = False
        # A slot among the streams of the server, a subscriber of the log, and a call when the log is closed.
        self._cursor = services.streams.attach(connection.log, connection.log.last, self.pump)
        self._has_gap = after is not None and after > stream.last
        if self._has_gap:
            after = stream.first_from(1, connection.log.oldest) - 1
        self._position = (stream.sent if after is None else after) + 1
        self._last_write = self._loop.time()
        self._heartbeat = self._loop.call_later(services.heartbeat_s, run_guarded, sink, self._send_heartbeat)
        connection.attached()
        before, stream.receiver = stream.receiver, self
        if before is not None:
            before.replace()
        sink.attach(self, is_endless=True)
        try:
            sink.start(200, [*sse.HEADERS, *headers])
        except Exception:
            self._detach()
            raise
        connection.router.opened(stream)
        self.pump()

    def pump(self, window: Window | None = None) -> None:
        """Write what there is; `window` has events that were just added."""
        if self._ended:
            return
        if window:
            self._window = window
        run_guarded(self._sink, self._write_available)

    def _write_available(self) -> None:
        log, stream = self._connection.log, self._stream
        pieces: list[bytes] = []
        size = 0
        while self._sink.can_write and not self._is_reading and size <= _FAIR_BYTES:
            if self._has_gap:
                self._has_gap = False
                pieces.append(sse.gap(Gap(self._position, stream.last)))
            if self._position > stream.last or log.closed:
                break
            number = stream.number_at(self._position)
            line = self._window.get(number)
            if line is not None:
                pieces += (b"id: %d\ndata: " % self._position, line, b"\n\n")
                size += len(line)
                self._position += 1
            elif number < log.oldest:
                self._position = stream.first_from(self._position, log.oldest)
                self._has_gap = True
            else:
                self._read(number)
        if pieces:
            stream.sent = self._position - 1
            self._last_write = self._loop.time()
            self._sink.write_pieces(pieces)
        if size > _FAIR_BYTES:
            self._loop.call_soon(self.pump)
        elif log.closed or (self._position > stream.last and self._connection.is_finished):
            self._end()

    def _read(self, number: int) -> None:
        is_now = True

        def ready(window: Window) -> None:
            self._window = window
            self._is_reading = False
            if number not in window:  # removed meanwhile
                self._position += 1
                self._has_gap = True
            if not is_now:
                self.pump()

        self._is_reading = True
        read_window(self._connection.log, number, ready)
        is_now = False

    def _send_heartbeat(self) -> None:
        quiet_s = self._loop.time() - self._last_write
        if quiet_s >= self._services.heartbeat_s:
            self._last_write = self._loop.time()
            if self._sink.can_write:
                self._sink.write(sse.HEARTBEAT)
            quiet_s = 0.0
        self._heartbeat = self._loop.call_later(
            self._services.heartbeat_s - quiet_s, run_guarded, self._sink, self._send_heartbeat
        )

    def replace(self) -> None:
        """Another receiver has taken over: end the response without an event."""
        self._end()

    def _end(self) -> None:
        self._detach()
        if self._services.stopping:
            self._sink.write(sse.STOPPING)
        self._sink.end()

    def _detach(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._heartbeat.cancel()
        self._services.streams.detach(self._cursor)
        if self._stream.receiver is self:
            self._stream.receiver = None
        self._connection.detached()

    # ---- ResponseWriter ----------------------------------------------------------------------------------

    def resume(self) -> None:
        self.pump()

    def disconnected(self) -> None:
        self._detach()
