"""What kind of message is this, and what is its id: peeked at, never decoded, never rewritten.

`peek` takes the bytes of one message. Nearly all are answered by msgspec, which skips everything but the
two keys; legal texts that msgspec refuses (depth, lone surrogates) go to the complete scanner.
Ids are compared as JSON values with their type: `1`, `1.0` and `"1"` are three ids.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from sandbox_agent.bridge.json_scan import NotJson, scan

# Above this size the complete scanner belongs into a thread: it needs about a second for 4 MiB of brackets.
SCAN_IN_THREAD_ABOVE = 64 * 1024


class RawEnvelope(msgspec.Struct, gc=False):
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()


class Envelope(NamedTuple):
    is_object: bool
    id: bytes
    """The raw id; empty when the key is absent."""
    has_method: bool

    @property
    def is_request(self) -> bool:
        return self.has_method and bool(self.id)

    @property
    def is_answer(self) -> bool:
        return bool(self.id) and not self.has_method


_decoder = msgspec.json.Decoder(RawEnvelope)
_any_value = msgspec.json.Decoder(msgspec.Raw)
decode_object = _decoder.decode
"""The quick look itself, for batches; raises what msgspec raises."""


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
        raw = _decoder.decode(data)
    except msgspec.ValidationError:
        return _peek_no_object(data)
    except msgspec.DecodeError as error:
        if b"\\u" in data:
            return None
        raise NotJson(str(error)) from None
    except RecursionError:
        return None
    return Envelope(True, bytes(raw.id), bool(raw.method))


def _peek_no_object(data: bytes) -> Envelope | None:
    try:
        _any_value.decode(data)
    except msgspec.DecodeError as error:
        if b"\\u" in data:
            return None
        raise NotJson(str(error)) from None
    except RecursionError:
        return None
    return Envelope(False, b"", False)


def peek_thoroughly(data: bytes) -> Envelope:
    """The envelope by the complete scanner. Raises NotJson."""
    check_utf8(data)
    return Envelope(*scan(data))


def peek(data: bytes) -> Envelope:
    """The envelope of one message. Raises NotJson."""
    return peek_quickly(data) or peek_thoroughly(data)


def id_key(raw: bytes) -> bytes:
    """A key that is equal for two spellings of the same JSON value of the same type."""
    first = raw[0]
    if first == 0x22:  # a string
        if b"\\" not in raw:
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
