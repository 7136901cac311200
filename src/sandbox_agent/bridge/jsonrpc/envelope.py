"""The envelope of a JSON-RPC message: whether it has a method, and its id. Messages are never rewritten.

`peek_quickly` uses msgspec, which skips everything but the two keys (0.2 µs for 200 bytes, 240 µs for 1 MB).
`peek_in_thread` does the same for a long message in parts, so that other threads run meanwhile (2 to 11 ms
for 1 MB).
`peek_thoroughly` uses `scanner`, which is complete but 10 to 60 times slower. It decides about every text
that msgspec refuses: texts that are not a JSON object, and legal texts that msgspec does not support (deep
nesting, lone surrogate escapes).
"""

from __future__ import annotations

import codecs
import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, TypeAlias

from sandbox_agent.bridge.jsonrpc.long_message import SHORTENED, parts_of
from sandbox_agent.bridge.jsonrpc.scanner import NotJson, scan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

# Above this size the scanner runs in a worker thread: this much of brackets takes it 2 to 11 ms.
SCAN_IN_THREAD_ABOVE = 8 * 1024
# Above this size every message is read in a worker thread, in parts. One call of msgspec for so much takes
# 0.5 to 6 ms.
READ_IN_THREAD_ABOVE = 2 * 1024 * 1024
# Text is decoded to check its encoding in parts of this size, which need no new memory each time.
_DECODED_BYTES = 256 * 1024


# A plain tuple, because two named ones per request took 0.6 of the 10 µs of Python that a POST takes.
Envelope: TypeAlias = tuple[bool, bytes, bool]
"""Whether it is an object, its id as it is written (empty if the key is absent), whether it has a method."""


class _Decoders:
    """Decoders of msgspec. Each raises ValueError or RecursionError for a text it refuses."""

    def __init__(
        self, envelope: Callable[[bytes], Any], notifications: Callable[[bytes], Sequence[object]]
    ) -> None:
        self.envelope = envelope
        self.notifications = notifications


_decoders: _Decoders | None = None


def load_msgspec() -> _Decoders:
    """Load msgspec, which takes about 10 ms.

    The first answer of an agent does not wait for this: `AgentStarter` calls it 0.1 s after the start of the
    first agent. Short messages before that are left to the scanner; long ones, and blocks of many, load
    msgspec themselves.
    """
    global _decoders
    if _decoders is not None:
        return _decoders
    import msgspec

    raw = msgspec.Raw
    fields = msgspec.defstruct("Fields", [("id", raw, raw()), ("method", raw, raw())], gc=False)
    # No number satisfies the bounds, so an object with an id of any kind is refused.
    no_id = msgspec.Meta(ge=1, le=0)
    notification = msgspec.defstruct("Notification", [("id", Annotated[int, no_id], 0)], gc=False)
    _decoders = _Decoders(
        msgspec.json.Decoder(fields).decode, msgspec.json.Decoder(notification).decode_lines
    )
    return _decoders


def peek_quickly(data: bytes) -> Envelope | None:
    """The envelope of a JSON object; None if `peek_thoroughly` or `peek_in_thread` has to decide."""
    if len(data) > READ_IN_THREAD_ABOVE:
        return None
    decoders = _decoders
    if decoders is None:
        if len(data) <= SCAN_IN_THREAD_ABOVE:
            return None
        decoders = load_msgspec()
    try:
        if not data.isascii():
            _check_utf8(data)  # msgspec does not check the encoding of strings that it skips
        fields = decoders.envelope(data)
    except (ValueError, RecursionError):
        return None
    return True, bytes(fields.id), bool(fields.method)


def peek_in_thread(data: bytes) -> Envelope:
    """The envelope of a long message, or of one that `peek_quickly` has refused. Raises NotJson.

    For a worker thread: no step of it holds the interpreter lock for more than a few milliseconds.
    """
    in_parts = _peek_in_parts(data) if len(data) > READ_IN_THREAD_ABOVE else None
    return in_parts or peek_thoroughly(data)


def _peek_in_parts(data: bytes) -> Envelope | None:
    """As `peek_quickly`, with many short calls of msgspec instead of a long one."""
    decode = load_msgspec().envelope
    raw_id, has_method = b"", False
    try:
        _check_utf8(data)
        for part in parts_of(data):
            fields = decode(part)
            raw_id = bytes(fields.id) or raw_id
            has_method = has_method or bool(fields.method)
    except (ValueError, RecursionError):
        return None
    # An id that may have been shortened or cut.
    if raw_id == SHORTENED or raw_id[:1] in (b"[", b"{"):
        return None
    return True, raw_id, has_method


def peek_thoroughly(data: bytes) -> Envelope:
    """The envelope of any JSON text. Raises NotJson."""
    try:
        _check_utf8(data)
    except UnicodeDecodeError as error:
        raise NotJson(f"invalid UTF-8 at byte {error.start + 1}") from None
    return scan(data)


def count_notifications(block: bytes) -> int | None:
    """The number of objects in a block of lines that are all JSON objects without an id, else None."""
    try:
        if not block.isascii():
            _check_utf8(block)
        return len((_decoders or load_msgspec()).notifications(block))
    except (ValueError, RecursionError):
        return None


def _check_utf8(data: bytes) -> None:
    """Raises UnicodeDecodeError, with the position in `data`, if the text is not UTF-8."""
    if len(data) <= _DECODED_BYTES:
        data.decode()
        return
    view = memoryview(data)
    at = 0
    while at < len(data):
        part = view[at : at + _DECODED_BYTES]
        is_last = at + len(part) == len(data)
        try:
            at += codecs.utf_8_decode(part, "strict", is_last)[1]
        except UnicodeDecodeError as error:
            start, end = at + error.start, at + error.end
            raise UnicodeDecodeError("utf-8", b"", start, end, error.reason) from None


def id_at_beginning(beginning: bytes) -> bytes:
    """The id of a response of which only the beginning is known; empty if it is not among its first keys."""
    found = _id_pattern().match(beginning)
    return found[1] if found else b""


@cache
def _id_pattern() -> re.Pattern[bytes]:
    return re.compile(
        rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|-?[0-9]+)\s*,\s*"(?:result|error)"'
    )
