"""An event stream written straight to the connection: no task, a batch of events a write.

`pump` runs when the log has something new and when the connection can take more again. A reader that does not
read costs nothing: its position stays where it is until the connection is writable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.http.acp import sse
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.eventlog.frames import Block
    from sandbox_agent.http.http1.quick_exchange import Exchange
    from sandbox_agent.http.services import Services

# After this much at one go the others get their turn.
_FAIR_BYTES = 1024 * 1024


class QuickStream:
    def __init__(
        self, exchange: Exchange, services: Services, log: EventLog, last_event_id: int | None
    ) -> None:
        self._exchange = exchange
        self._services = services
        self._loop = running_loop.running_loop()
        self._reader = services.streams.attach(log, last_event_id, self.pump)
        self._over = False
        self._last_write = self._loop.time()
        self._heartbeat = self._loop.call_later(services.heartbeat_s, self._beat)
        exchange.attach(self, is_stream=True)
        exchange.start_chunks(200, [*sse.HEADERS, *exchange.extra_headers])
        self.pump()

    def pump(self, newest: Block | None = None) -> None:
        """Send what there is; `newest` is all of it, if it is known."""
        if self._over:
            return
        exchange = self._exchange
        if newest is not None and not exchange.connection.write_paused:
            exchange.write_block(newest)
            self._reader.follow()
            self._last_write = self._loop.time()
            return
        written = 0
        while exchange.can_write:
            item = self._reader.take()
            if item is None:
                if self._reader.ended:
                    self._end()
                break
            if isinstance(item, FileRange):
                exchange.write_stored(item)
                written += item.size
            else:
                pieces = (sse.gap(item),) if isinstance(item, Gap) else item.pieces
                written += exchange.write_pieces(pieces)
            if written > _FAIR_BYTES:
                self._loop.call_soon(self.pump)
                break
        if written:
            self._last_write = self._loop.time()

    def _beat(self) -> None:
        quiet_s = self._loop.time() - self._last_write
        if quiet_s >= self._services.heartbeat_s:
            self._last_write = self._loop.time()
            if self._exchange.can_write:
                self._exchange.write_chunk(sse.HEARTBEAT)
            else:
                self._reader.release()
            quiet_s = 0.0
        self._heartbeat = self._loop.call_later(self._services.heartbeat_s - quiet_s, self._beat)

    def _end(self) -> None:
        self._detach()
        if self._services.stopping:
            self._exchange.write_chunk(sse.STOPPING)
        self._exchange.end_chunks()

    def disconnected(self) -> None:
        self._detach()

    def _detach(self) -> None:
        if not self._over:
            self._over = True
            self._heartbeat.cancel()
            self._services.streams.detach(self._reader)
