"""Server-sent events, byte for byte: how a batch of the log looks on the wire.

Readers at the same position share one encoded batch, kept on the log: a hundred cost one encoding.
"""

from __future__ import annotations

from sandbox_agent.bridge.event_log import EventLog, Events, Gap
from sandbox_agent.http.exchange import HeaderList

HEADERS: HeaderList = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
# Formatting copies a line once more than joining does, but costs less per line.
_LONG_LINE_BYTES = 1024
HEARTBEAT = b": heartbeat\n\n"
STOPPING = b": server stopping\n\n"


def encode(log: EventLog, item: Events | Gap) -> bytes:
    if isinstance(item, Gap):
        return b'event: gap\ndata: {"oldest":%d,"newest":%d}\n\n' % item
    shared: tuple[int, int, bytes] | None = log.encoded
    first, count = item.first, len(item.lines)
    if shared is not None and shared[0] == first and shared[1] == count:
        return shared[2]
    data = _frame_long(item) if len(item.lines[0]) > _LONG_LINE_BYTES else _frame_short(item)
    if b"\r" in data:
        # JSON allows a raw CR between tokens; SSE would take it for the end of a line.
        data = data.replace(b"\r", b" ")
    log.encoded = (first, count, data)
    return data


def _frame_short(events: Events) -> bytes:
    numbered = enumerate(events.lines, events.first)
    return b"".join([b"event: message\nid: %d\ndata: %b\n\n" % event for event in numbered])


def _frame_long(events: Events) -> bytes:
    parts: list[bytes] = []
    for number, line in enumerate(events.lines, events.first):
        parts += (b"event: message\nid: %d\ndata: " % number, line, b"\n\n")
    return b"".join(parts)
