"""Streams with `?include=`: what clients have posted, and the times of the events.

Both are frames of their own between the unchanged frames of the log, without an `id:`, so Last-Event-ID stays
a number of the event log. `event: client` carries the number of the agent's last message before it (`after`).
It always comes before the message that follows it in time, in a replay much earlier: readers that need the
order keep it until they have the message `after`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.client_log import split_line
from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http import sse
from sandbox_agent.http.acp.shared_messages import without_secrets
from sandbox_agent.http.acp.stream import Source
from sandbox_agent.http.messages import parse_number
from sandbox_agent.runtime.wall_clock import now_ns

if TYPE_CHECKING:
    from sandbox_agent.bridge.client_log import ClientLog
    from sandbox_agent.bridge.eventlog.cursor import Cursor
    from sandbox_agent.bridge.eventlog.sse_frames import Frames
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.http.acp.stream import StreamPump
    from sandbox_agent.http.messages import Query

_INCLUDABLE = {"client", "time"}


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
    number = parse_number(query.get("clientAfter") or "0")
    if number is None:
        raise InvalidRequest("'clientAfter' must be a number")
    return number


class AnnotatedSource(Source):
    """A log with its client log and its times."""

    __slots__ = ("_client_after", "_client_cursor", "_client_log", "_instance", "_timed_to")

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
        self._client_after = client_after
        self._client_cursor: Cursor | None = None
        self._timed_to: int | None = 0 if includes_times else None

    def attach(self, pump: StreamPump) -> None:
        super().attach(pump)
        if self._timed_to is not None:
            self._timed_to = self._cursor.position - 1
        if self._client_log is not None:
            self._client_cursor = self._client_log.attach(self._client_after, self.wake)

    def write_next(self) -> int:
        """Clients' messages, and when there are none the next frames with their times."""
        cursor = self._client_cursor
        if cursor is not None and self._client_log is not None:
            self._client_log.publish()
            if (item := cursor.take()) is not None:
                return self._write_client(item)
            if not cursor.is_at_end:
                return 0  # They come from disk; what follows them in time must not come first.
        size = super().write_next()
        if size and self._timed_to is not None:
            size += self._write_times(self._cursor.position - 1)
        return size

    def _write_client(self, item: Frames | FileRange | Gap) -> int:
        if isinstance(item, Gap):
            data = sse.event(b"client-gap", b'{"oldest":%d,"newest":%d}' % (item.oldest, item.newest))
        else:
            pieces = [item.read()] if isinstance(item, FileRange) else item.pieces
            data = b"".join(self._client_frame(number, line) for number, line in sse_frames.lines_of(pieces))
        self._name_server()
        self._pump.sink.write(data)
        return len(data)

    def _client_frame(self, number: int, line: bytes) -> bytes:
        if self.share is not None:
            place, body = split_line(line)
            line = place + without_secrets(body) + b"}"
        return sse.event(b"client", b'{"number":%d,%b' % (number, line[1:]))

    def _write_times(self, last: int) -> int:
        first, self._timed_to = (self._timed_to or 0) + 1, last
        marks = list(self._instance.times.between(first, last))
        if not marks or marks[-1][0] < last:  # Published in this step: the mark follows after it.
            marks.append((last, now_ns() // 1_000_000))
        data = b"".join(_time_frame(*mark) for mark in marks)
        self._pump.sink.write(data)
        return len(data)

    def release(self) -> None:
        super().release()
        if self._client_cursor is not None:
            self._client_cursor.release()

    def detach(self) -> None:
        super().detach()
        if self._client_cursor is not None:
            self._client_cursor.detach()


def _time_frame(number: int, time_ms: int | None) -> bytes:
    time = b"null" if time_ms is None else b"%d" % time_ms
    return sse.event(b"time", b'{"number":%d,"timeMs":%b}' % (number, time))
