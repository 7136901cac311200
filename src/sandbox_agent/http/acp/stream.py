"""Event streams: which log is read from where, and the pump from one or several logs to the client.

The pump runs when the log has something new and when the sink can take more. A client that does not read
costs nothing: its position in the log stays where it is until the sink is writable again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http import sse
from sandbox_agent.http.acp.accept import check_accept
from sandbox_agent.http.messages import Query
from sandbox_agent.http.sinks.step_guard import run_guarded
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sandbox_agent.bridge.eventlog.cursor import Cursor
    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.http.access.tickets import Share
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.sinks.response_sink import ResponseSink

# Python refuses to read numbers of thousands of digits; any number this long is in the future.
_MAX_DIGITS = 30
# After this many bytes in one turn of the loop, other connections get theirs.
_FAIR_BYTES = 1024 * 1024


def open_source(
    services: Services, server_id: str, headers: Mapping[bytes, bytes], raw_query: bytes
) -> Source:
    """The log of GET /v1/acp/{server_id} and its start. Raises what refuses the stream."""
    check_accept(headers, sse.MEDIA_TYPE)
    last_event_id = read_last_event_id(headers)
    instance = services.instances.get(server_id)
    if b"include" in raw_query:
        from sandbox_agent.http.acp.annotated_source import (  # loaded with the first of them
            open_annotated,
            read_client_after,
        )

        query = Query(raw_query)
        client_after = read_client_after(query)
        source: Source = open_annotated(instance, last_event_id, query.get("include") or "", client_after)
    else:
        source = Source(instance.log, last_event_id)
    source.share = services.access.share_of(headers)
    if source.share is not None:
        source.share.check_room()
    return source


def read_last_event_id(headers: Mapping[bytes, bytes]) -> int | None:
    text = headers.get(b"last-event-id", b"").strip()
    if not text:
        return None
    if not text.removeprefix(b"+").isdigit():
        raise InvalidRequest("Last-Event-ID must be a positive integer")
    digits = text.lstrip(b"+").lstrip(b"0")
    return int(digits[:_MAX_DIGITS] or b"0")


class StreamPump:
    """Writes the events of one or several logs to a sink until they end or the client leaves.

    It is the `ResponseWriter` of the sink. Frames of a log are written as they are. With several logs, a
    frame that names the server comes before the first frame of each run of frames from one server.
    """

    def __init__(
        self,
        sink: ResponseSink,
        services: Services,
        sources: Sequence[Source],
        headers: HeaderList,
    ) -> None:
        """Begin the stream; `headers` are added to those of the response. Raises TooManyStreams."""
        services.streams.take()
        self.sink = sink
        self.current: Source | None = sources[0] if sources[0].name is None else None
        """The source of the last frame; a stream of one server does not name it."""
        self.ended = False
        self.loop = running_loop.running_loop()
        self.last_write = self.loop.time()
        self._services = services
        self._open = dict.fromkeys(sources)
        self._ready = dict.fromkeys(sources)
        """Sources that may have something to write."""
        for source in sources:
            source.attach(self)
        self._heartbeat = self.loop.call_later(services.heartbeat_s, run_guarded, sink, self._send_heartbeat)
        sink.attach(self, is_endless=True)
        try:
            sink.start(200, [*sse.HEADERS, *headers])
        except Exception:
            self._detach()
            raise
        self.pump()

    def pump(self, source: Source | None = None) -> None:
        """Write what there is: of `source`, which has something new, and of those that had to wait."""
        if self.ended:
            return
        if source is not None:
            self._ready[source] = None
        try:
            self._write_available()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        self._detach()
        self.sink.fail(error)

    def end(self) -> None:
        """End the stream before its logs have ended."""
        if not self.ended:
            self._detach()
            self.sink.end()

    def _write_available(self) -> None:
        written = 0
        while self._ready and self.sink.can_write:
            source = next(iter(self._ready))
            size = source.write_next()
            if not size:
                del self._ready[source]
                if source.ended:
                    self._source_ended(source)
                    if self.ended:
                        return
                continue
            written += size
            if written > _FAIR_BYTES:
                # The next source is first in the next turn.
                self._ready[source] = self._ready.pop(source)
                self.loop.call_soon(self.pump)
                break
        if written:
            self.last_write = self.loop.time()

    def _source_ended(self, source: Source) -> None:
        del self._open[source]
        source.detach()
        if self._services.stopping or not self._open:
            self._detach()
            if self._services.stopping:
                self.sink.write(sse.STOPPING)
            elif source.name is not None:
                self.sink.write(sse.event(b"end", source.name))
            self.sink.end()
        elif source.name is not None:
            self.sink.write(sse.event(b"end", source.name))

    def _send_heartbeat(self) -> None:
        quiet_s = self.loop.time() - self.last_write
        if quiet_s >= self._services.heartbeat_s:
            self.last_write = self.loop.time()
            if self.sink.can_write:
                self.sink.write(sse.HEARTBEAT)
            else:
                for source in self._open:
                    source.release()
            quiet_s = 0.0
        self._heartbeat = self.loop.call_later(
            self._services.heartbeat_s - quiet_s, run_guarded, self.sink, self._send_heartbeat
        )

    def _detach(self) -> None:
        if not self.ended:
            self.ended = True
            self._heartbeat.cancel()
            for source in self._open:
                source.detach()
            self._services.streams.release()

    # ---- ResponseWriter ----------------------------------------------------------------------------------

    def resume(self) -> None:
        self.pump()

    def disconnected(self) -> None:
        self._detach()


class Source:
    """One log of a stream and the position in it; `name` has the server id if the stream may have several."""

    __slots__ = ("_cursor", "_last_event_id", "_log", "_pump", "name", "share")
    _cursor: Cursor
    _pump: StreamPump

    def __init__(self, log: EventLog, last_event_id: int | None, name: bytes | None = None) -> None:
        self._log = log
        self._last_event_id = last_event_id
        self.name = name
        self.share: Share | None = None
        """Set if the reader has a ticket: the stream ends with it."""

    def attach(self, pump: StreamPump) -> None:
        self._pump = pump
        if self.share is not None:
            self.share.begin_stream(pump.end)
        self._cursor = self._log.attach(self._last_event_id, self.wake)

    @property
    def ended(self) -> bool:
        return self._cursor.ended

    def wake(self) -> None:
        """The log has something new."""
        self._pump.pump(self)

    def write_next(self) -> int:
        """Write the next frames; returns their size, 0 if there are none now."""
        item = self._cursor.take()
        if item is None:
            return 0
        pump = self._pump
        self._name_server()
        if isinstance(item, FileRange):
            pump.sink.write_file(item)
            return item.size
        pieces = (sse.gap(item),) if isinstance(item, Gap) else item.pieces
        pump.sink.write_pieces(pieces)
        return sum(map(len, pieces))

    def _name_server(self) -> None:
        """Say whose frames follow, unless the stream has one server or was there already."""
        if self._pump.current is not self and self.name is not None:
            self._pump.current = self
            self._pump.sink.write(sse.event(b"server", self.name))

    def release(self) -> None:
        self._cursor.release()

    def detach(self) -> None:
        self._cursor.detach()
        if self.share is not None:
            self.share.stream_ended(self._pump.end)
