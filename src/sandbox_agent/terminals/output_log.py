"""The numbered output of one process, in an `EventLog`: entries as the clients get them.

An entry is one line of JSON (`_ENTRY`). The log frames it as a server-sent event; readers that want the bytes
find them between fixed marks.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from typing import TYPE_CHECKING

from sandbox_agent.runtime import wall_clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sandbox_agent.bridge.eventlog.event_log import EventLog

_ENTRY = b'{"sequence":%d,"stream":"%b","timestampMs":%d,"data":"%b","encoding":"base64"}'
_SEQUENCE, _STREAM, _DATA = b'"sequence":', b'"stream":"', b'"data":"'
_FRAME_END, _EVENT_DATA = b"\n\n", b"\ndata: "


def publish(log: EventLog, stream: str, data: bytes) -> None:
    encoded = b2a_base64(data, newline=False)
    log.publish_line(_ENTRY % (log.last + 1, stream.encode(), wall_clock.now_ms(), encoded))


def in_memory(log: EventLog, since: int) -> Iterator[bytes]:
    """The entries after `since` that are in memory."""
    number = max(since + 1, log.first_in_memory)
    while number <= log.last and (found := log.in_memory(number)) is not None:
        yield from entries(b"".join(found.pieces))
        number = found.last + 1


def entries(frames: bytes) -> Iterator[bytes]:
    """The entries in the frames of a log."""
    for frame in frames.split(_FRAME_END):
        if frame:
            yield frame[frame.index(_EVENT_DATA) + len(_EVENT_DATA) :]


def after(frames: bytes, sequence: int) -> bytes:
    """The frames with a larger number."""
    whole = (frame for frame in frames.split(_FRAME_END) if frame)
    return b"".join(frame + _FRAME_END for frame in whole if sequence_of(frame) > sequence)


def sequence_of(entry: bytes) -> int:
    """The number of an entry, or of its frame."""
    start = entry.index(_SEQUENCE) + len(_SEQUENCE)
    return int(entry[start : entry.index(b",", start)])


def stream_of(entry: bytes) -> str:
    start = entry.index(_STREAM) + len(_STREAM)
    return entry[start : entry.index(b'"', start)].decode()


def raw_output(frames: bytes) -> bytes:
    """The bytes that the process wrote, of whole frames."""
    parts = frames.split(_DATA)
    return b"".join([a2b_base64(part[: part.index(b'"')]) for part in parts[1:]])
