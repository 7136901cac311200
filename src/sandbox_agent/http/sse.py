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
HEARTBEAT = b": heartbeat\n\n"
STOPPING = b": server stopping\n\n"


def encode(log: EventLog, item: Events | Gap) -> bytes:
    if isinstance(item, Gap):
        return b'event: gap\ndata: {"oldest":%d,"newest":%d}\n\n' % item
    shared: tuple[int, int, bytes] | None = log.encoded
    first, count = item.first, len(item.lines)
    if shared is not None and shared[0] == first and shared[1] == count:
        return shared[2]
    data = b"".join(
        [b"event: message\nid: %d\ndata: %b\n\n" % numbered for numbered in enumerate(item.lines, first)]
    )
    if b"\r" in data:
        # JSON allows a raw CR between tokens; SSE would take it for the end of a line.
        data = data.replace(b"\r", b" ")
    log.encoded = (first, count, data)
    return data
