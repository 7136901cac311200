"""The envelope of a message that is nearly all one string: a picture in base64, the text of a file.

msgspec takes such a string byte by byte. jiter looks at many bytes at a time, which is three times as fast
while there are no escapes and no accents, but it makes Python objects of all it sees. So it is asked about
messages with little beside the string, and only whether they are JSON; msgspec then sees the message without
the string, which is short, and finds the keys.
"""

from __future__ import annotations

from typing import ClassVar

import jiter
import msgspec

from sandbox_agent.bridge.jsonrpc.raw_envelope import RawEnvelope
from sandbox_agent.bridge.stdio.split_lines import CR, LF

# jiter makes a copy of the string, which should not cost much memory.
_MAX_BYTES = 8 * 1024 * 1024
# At most so much of the message is not the string.
_REST_SHARE = 32
_SAMPLE_BYTES = 1024
_BACKSLASH = 0x5C
_AFTER_A_STRING = b",:]} \t\r\n"


class LongEnvelope(RawEnvelope, gc=False):
    is_one_line: ClassVar = True


_decode_rest = msgspec.json.Decoder(LongEnvelope).decode


def look(data: bytes) -> LongEnvelope | None:
    """The envelope; None if the message is of another kind, or perhaps no JSON."""
    size = len(data)
    middle = size // 2
    start = data.rfind(b'"', 0, middle) + 1
    end = data.find(b'"', middle)
    if size - (end - start) > size // _REST_SHARE or size > _MAX_BYTES or not _is_plain(data, start, end):
        return None
    rest = data[:start] + data[end:]
    if LF in rest or CR in rest:
        return None
    try:
        jiter.from_json(bytes(data), allow_inf_nan=False, cache_mode="none")
        # What is left out is inside of a string, so the rest has the same shape.
        found = _decode_rest(rest)
    except (ValueError, RecursionError):
        return None
    return None if b'""' in bytes(found.id) else found  # The id itself may be what is long.


def _is_plain(data: bytes, start: int, end: int) -> bool:
    """Whether what is between the quotes looks like a string that jiter is good at."""
    sample = data[start : start + _SAMPLE_BYTES]
    return (
        data[start] not in _AFTER_A_STRING
        and data[end - 1] != _BACKSLASH
        and _BACKSLASH not in sample
        and sample.isascii()
    )
