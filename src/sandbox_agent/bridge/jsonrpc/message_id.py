"""Comparison of JSON-RPC ids as JSON values with their type: `1`, `1.0` and `"1"` are three ids."""

from __future__ import annotations

_QUOTE, _BACKSLASH = b'"\\'


def id_key(raw: bytes) -> bytes:
    """A key that is equal for two spellings of the same JSON value of the same type."""
    first = raw[0]
    if first == _QUOTE:
        if _BACKSLASH not in raw:
            return raw[:-1]
        import json  # here and below: loaded with the first unusual id, because it takes 2 ms of start-up

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
    if not any(sign in raw for sign in (b".", b"e", b"E")):
        return b"0" if raw == b"-0" else raw
    from decimal import Decimal  # 1 ms of start-up, for ids with a fraction

    try:
        value = Decimal(raw.decode())
        return b"f%s" % str(value.normalize() if value else abs(value).normalize()).encode()
    except (ArithmeticError, ValueError):
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
