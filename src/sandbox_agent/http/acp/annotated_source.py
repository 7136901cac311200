"""Streams with `?include=`: what clients have posted, and the times of the events.

Both are frames of their own between the unchanged frames of the log, without an `id:`, so Last-Event-ID stays
a number of the event log. `event: client` carries the number of the agent's last message before it (`after`).
It always comes before the message that follows it in time, in a replay much earlier: readers that need the
order keep it until they have the message `after`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.acp import sse
from sandbox_agent.http.acp.shared_messages import without_secrets
from sandbox_agent.http.acp.stream import Source
from sandbox_agent.runtime.wall_clock import now_ns

if TYPE_CHECKING:
    from sandbox_agent.bridge.client_log import ClientLog, ClientMessage
    from sandbox_agent.bridge.eventlog.frames import Block
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.http.acp.stream import StreamPump
    from sandbox_agent.http.messages import Query

_INCLUDABLE = {"client", "time"}
_MAX_DIGITS = 18
# Bytes of clients' messages that are written in one step.
_BATCH_BYTES = 256 * 1024


def open_annotated(
    instance: Instance,
    last_event_id: int | None,
    included: str,
    client_after: int,
    name: bytes | None = None,
) -> AnnotatedSource:
    """The source for `include` after two positions. Raises InvalidRequest."""
    wanted = set(included.split(",")) - {""}
    if unknown := wanted - _INCLUDABLE:
        raise InvalidRequest(f"'include' takes client and time, not {', '.join(sorted(unknown))}")
    client_log = instance.client_log if "client" in wanted else None
    if "client" in wanted and client_log is None:
        raise InvalidRequest("what clients post is not kept (--no-client-log)")
    return AnnotatedSource(
        instance, last_event_id, client_log, client_after, name, includes_times="time" in wanted
    )


def read_client_after(query: Query) -> int:
    """The number of `clientAfter`. Raises InvalidRequest."""
    text = query.get("clientAfter") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS):
        raise InvalidRequest("'clientAfter' must be a number")
    return int(text)


class AnnotatedSource(Source):
    """A log with its client log and its times."""

    __slots__ = ("_client_log", "_client_position", "_instance", "_timed_to")

    def __init__(
        self,
        instance: Instance,
        last_event_id: int | None,
        client_log: ClientLog | None,
        client_after: int,
        name: bytes | None,
        *,
        includes_times: bool,
    ) -> None:
        super().__init__(instance.log, last_event_id, name)
        self._instance = instance
        self._client_log = client_log
        self._client_position = client_after
        self._timed_to: int | None = 0 if includes_times else None

    def attach(self, pump: StreamPump) -> None:
        super().attach(pump)
        if self._timed_to is not None:
            self._timed_to = self._cursor.position - 1
        if self._client_log is not None:
            self._client_log.waiting[self._client_posted] = None

    def _client_posted(self) -> None:
        self._pump.pump(self)

    def wake(self, newest: Block | None = None) -> None:
        """The frames around `newest` have to be looked up, so it is not written directly."""
        self._pump.pump(self)

    def write_next(self) -> int:
        """Clients' messages, and when there are none the next frames with their times."""
        if self._client_log is not None and (size := self._write_client(self._client_log)):
            return size
        size = super().write_next()
        if size and self._timed_to is not None:
            size += self._write_times(self._cursor.position - 1)
        return size

    def _write_client(self, log: ClientLog) -> int:
        log.waiting[self._client_posted] = None
        frames: list[bytes] = []
        size = 0
        if not log.oldest - 1 <= self._client_position <= log.last:
            self._client_position = log.oldest - 1
            frames.append(sse.event(b"client-gap", b'{"oldest":%d,"newest":%d}' % (log.oldest, log.last)))
        for message in log.after(self._client_position):
            if size > _BATCH_BYTES:
                break
            self._client_position = message.number
            body = message.body if self.share is None else without_secrets(message.body)
            frames.append(_client_frame(message, body))
            size += len(frames[-1])
        data = b"".join(frames)
        if data:
            self._name_server()
            self._pump.sink.write(data)
        return len(data)

    def _write_times(self, last: int) -> int:
        first, self._timed_to = (self._timed_to or 0) + 1, last
        marks = list(self._instance.times.between(first, last))
        if not marks or marks[-1][0] < last:  # Published in this step: the mark follows after it.
            marks.append((last, now_ns() // 1_000_000))
        data = b"".join(_time_frame(*mark) for mark in marks)
        self._pump.sink.write(data)
        return len(data)

    def detach(self) -> None:
        super().detach()
        if self._client_log is not None:
            self._client_log.waiting.pop(self._client_posted, None)


def _client_frame(message: ClientMessage, body: bytes) -> bytes:
    data = b'{"number":%d,"after":%d,"timeMs":%d,"message":%b}'
    return sse.event(b"client", data % (message.number, message.after, message.time_ms, body))


def _time_frame(number: int, time_ms: int | None) -> bytes:
    time = b"null" if time_ms is None else b"%d" % time_ms
    return sse.event(b"time", b'{"number":%d,"timeMs":%b}' % (number, time))
