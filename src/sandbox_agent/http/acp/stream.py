"""GET /v1/acp/{server_id}: which log is read from where, and the pump from the log to the client.

The pump runs when the log has something new and when the sink can take more. A client that does not read
costs nothing: its position in the log stays where it is until the sink is writable again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.errors import InvalidRequest, NotAcceptable
from sandbox_agent.http.acp import sse
from sandbox_agent.http.sinks.attempt import attempt
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.eventlog.frames import Block
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.sinks.response_sink import ResponseSink

_ACCEPTED = frozenset((b"text/event-stream", b"text/*", b"*/*"))
# Python refuses to read numbers of thousands of digits; any number this long is in the future.
_MAX_DIGITS = 30
# After this many bytes in one turn of the loop, other connections get theirs.
_FAIR_BYTES = 1024 * 1024


def open_log(
    services: Services, server_id: str, headers: Mapping[bytes, bytes]
) -> tuple[EventLog, int | None]:
    """The log to read and the number to start after. Raises what refuses the stream."""
    accept = headers.get(b"accept")
    if accept is not None and not any(
        part.partition(b";")[0].strip().lower() in _ACCEPTED for part in accept.split(b",")
    ):
        raise NotAcceptable("accept must allow text/event-stream")
    last_event_id = _last_event_id(headers.get(b"last-event-id"))
    return services.instances.get(server_id).log, last_event_id


def _last_event_id(header: bytes | None) -> int | None:
    text = (header or b"").strip()
    if not text:
        return None
    if not text.removeprefix(b"+").isdigit():
        raise InvalidRequest("Last-Event-ID must be a positive integer")
    digits = text.lstrip(b"+").lstrip(b"0")
    return int(digits[:_MAX_DIGITS] or b"0")


class StreamPump:
    """Writes the events of a log to a sink until the log ends or the client leaves; a `ResponseWriter`."""

    def __init__(
        self,
        sink: ResponseSink,
        services: Services,
        log: EventLog,
        last_event_id: int | None,
        headers: HeaderList,
    ) -> None:
        """Begin the stream; `headers` are added to those of the response. Raises TooManyStreams."""
        self._sink = sink
        self._services = services
        self._loop = running_loop.running_loop()
        self._cursor = services.streams.attach(log, last_event_id, self.pump)
        self._ended = False
        self._last_write = self._loop.time()
        self._heartbeat = self._loop.call_later(services.heartbeat_s, attempt, sink, self._send_heartbeat)
        sink.attach(self, is_endless=True)
        try:
            sink.start(200, [*sse.HEADERS, *headers])
        except Exception:
            self._detach()
            raise
        self.pump()

    def pump(self, newest: Block | None = None) -> None:
        """Write what there is; `newest` is all of it, if the log knows that."""
        if self._ended:
            return
        try:  # The same as `attempt`, without a call more for every event.
            if newest is not None and self._sink.can_write:
                if isinstance(newest, bytes):
                    self._sink.write(newest)
                else:
                    self._sink.write_pieces(newest)
                self._cursor.follow()
                self._last_write = self._loop.time()
            else:
                self._write_available()
        except Exception as error:
            self._detach()
            self._sink.fail(error)

    def _write_available(self) -> None:
        written = 0
        while self._sink.can_write:
            item = self._cursor.take()
            if item is None:
                if self._cursor.ended:
                    self._end()
                break
            if isinstance(item, FileRange):
                self._sink.write_file(item)
                written += item.size
            else:
                pieces = (sse.gap(item),) if isinstance(item, Gap) else item.pieces
                self._sink.write_pieces(pieces)
                written += sum(map(len, pieces))
            if written > _FAIR_BYTES:
                self._loop.call_soon(self.pump)
                break
        if written:
            self._last_write = self._loop.time()

    def _send_heartbeat(self) -> None:
        quiet_s = self._loop.time() - self._last_write
        if quiet_s >= self._services.heartbeat_s:
            self._last_write = self._loop.time()
            if self._sink.can_write:
                self._sink.write(sse.HEARTBEAT)
            else:
                self._cursor.release()
            quiet_s = 0.0
        self._heartbeat = self._loop.call_later(
            self._services.heartbeat_s - quiet_s, attempt, self._sink, self._send_heartbeat
        )

    def _end(self) -> None:
        self._detach()
        if self._services.stopping:
            self._sink.write(sse.STOPPING)
        self._sink.end()

    def _detach(self) -> None:
        if not self._ended:
            self._ended = True
            self._heartbeat.cancel()
            self._services.streams.detach(self._cursor)

    # ---- ResponseWriter ----------------------------------------------------------------------------------

    def resume(self) -> None:
        self.pump()

    def disconnected(self) -> None:
        self._detach()
