"""The parts of an event stream that are not events; the log keeps events as encoded frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.bridge.eventlog.cursor import Gap
    from sandbox_agent.http.messages import HeaderList

MEDIA_TYPE = b"text/event-stream"
HEADERS: HeaderList = [
    (b"content-type", MEDIA_TYPE),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
HEARTBEAT = b": heartbeat\n\n"
STOPPING = b": server stopping\n\n"


def gap(item: Gap) -> bytes:
    return b'event: gap\ndata: {"oldest":%d,"newest":%d}\n\n' % (item.oldest, item.newest)


def event(name: bytes, data: bytes) -> bytes:
    """An event without a number."""
    return b"event: %b\ndata: %b\n\n" % (name, data)
