"""What kind of message is this, and what is its id: peeked at, never decoded, never rewritten.

`peek` takes the bytes of one message. Nearly all are answered by msgspec (`raw_envelope`), which skips
everything but the two keys; legal texts that msgspec refuses (depth, lone surrogates) go to the complete
scanner. For the very first messages, unless `load` is called, `plain_envelope` does without msgspec.
Ids are compared as JSON values with their type: `1`, `1.0` and `"1"` are three ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.jsonrpc import plain_envelope
from sandbox_agent.bridge.jsonrpc.plain_json import NotPlain
from sandbox_agent.bridge.jsonrpc.scanner import NotJson, scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.jsonrpc.plain_envelope import PlainEnvelope
    from sandbox_agent.bridge.jsonrpc.raw_envelope import RawEnvelope

    Look = PlainEnvelope | RawEnvelope

# Above this size the complete scanner belongs into a thread: it needs about a second for 4 MiB of brackets.
SCAN_IN_THREAD_ABOVE = 64 * 1024
# Above this size a message may be one long string, which has a quicker way.
LONG_BYTES = 16 * 1024
_QUOTE, _BACKSLASH = b'"\\'


class Envelope:
    __slots__ = ("has_method", "id", "is_object")

    def __init__(self, is_object: bool, id: bytes, has_method: bool) -> None:
        self.is_object = is_object
        self.id = id
        """The raw id; empty when the key is absent."""
        self.has_method = has_method

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Envelope) and (self.is_object, self.id, self.has_method) == (
            other.is_object,
            other.id,
            other.has_method,
        )

    def __repr__(self) -> str:
        return f"Envelope({self.is_object}, {self.id!r}, {self.has_method})"


def load() -> None:
    """Load msgspec now: from here on every message gets the quick look."""
    global decode_object
    from sandbox_agent.bridge.jsonrpc import raw_envelope

    decode_object = raw_envelope.decode_object


_plain_left = 2
"""How many messages are understood without msgspec: the first and its answer, which somebody waits for."""


def _decode_first(data: bytes) -> Look:
    global _plain_left
    if _plain_left:
        _plain_left -= 1
        try:
            return plain_envelope.look(data)
        except NotPlain:
            pass
    load()
    return decode_object(data)


decode_object: Callable[[bytes], Look] = _decode_first
"""The look at text that is UTF-8; raises what `look` does. `load` puts a quicker one in its place."""


def look(data: bytes) -> Look:
    """The id and the method of a message. Raises ValueError or RecursionError, for some legal texts too."""
    if len(data) > LONG_BYTES and (found := _look_at_long(data)):
        return found
    if not data.isascii():
        check_utf8(data)
    return decode_object(data)


def _look_at_first_long(data: bytes) -> RawEnvelope | None:
    global _look_at_long
    load()
    from sandbox_agent.bridge.jsonrpc import long_envelope

    _look_at_long = long_envelope.look
    return _look_at_long(data)


_look_at_long: Callable[[bytes], RawEnvelope | None] = _look_at_first_long


def check_utf8(data: bytes) -> None:
    """msgspec does not look into strings that it skips, so their encoding is checked apart."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise NotJson(f"invalid UTF-8 at byte {error.start + 1}") from None


def peek_quickly(data: bytes) -> Envelope | None:
    """The envelope, or None when only the complete scanner can tell. Raises NotJson."""
    check_utf8(data)
    try:
        raw = decode_object(data)
    except RecursionError:
        return None
    except ValueError as error:
        return _peek_refused(data, error)
    return Envelope(True, bytes(raw.id), bool(raw.method))


def _peek_refused(data: bytes, error: ValueError) -> Envelope | None:
    """What is no object to msgspec: another value, not JSON, or something that it does not understand."""
    from sandbox_agent.bridge.jsonrpc import raw_envelope  # loaded by now

    if isinstance(error, raw_envelope.ValidationError):
        try:
            raw_envelope.decode_any(data)
            return Envelope(False, b"", False)
        except RecursionError:
            return None
        except ValueError as fault:
            error = fault
    if b"\\u" in data:
        return None
    raise NotJson(str(error)) from None


def peek_thoroughly(data: bytes) -> Envelope:
    """The envelope by the complete scanner. Raises NotJson."""
    check_utf8(data)
    found = scan(data)
    return Envelope(found.is_object, found.id, found.has_method)


def peek(data: bytes) -> Envelope:
    """The envelope of one message. Raises NotJson."""
    return peek_quickly(data) or peek_thoroughly(data)


def id_key(raw: bytes) -> bytes:
    """A key that is equal for two spellings of the same JSON value of the same type."""
    first = raw[0]
    if first == _QUOTE:
        if _BACKSLASH not in raw:
            return raw[:-1]
        import json  # here and below: imported for ids that hardly anybody sends

        text: str = json.loads(raw)
        return b'"' + text.encode("utf-8", "surrogatepass")
    if raw.isdigit():
        return raw
    if first == 0x2D or 0x30 <= first <= 0x39:
        return _number_key(raw)
    if first in b"[{":
        return _container_key(raw)
    return raw  # true, false, null


def _number_key(raw: bytes) -> bytes:
    if not any(mark in raw for mark in (b".", b"e", b"E")):
        return b"0" if raw == b"-0" else raw
    from decimal import Decimal, InvalidOperation

    try:
        value = Decimal(raw.decode())
        return b"f%s" % str(value.normalize() if value else abs(value).normalize()).encode()
    except (InvalidOperation, ValueError, OverflowError):
        return b"f" + raw


def _container_key(raw: bytes) -> bytes:
    import json

    def number(text: str) -> dict[str, str]:
        return {"number": id_key(text.encode()).decode()}

    try:
        value = json.loads(raw, parse_int=number, parse_float=number)
        return json.dumps(value, sort_keys=True).encode()
    except (ValueError, RecursionError):
        return raw
