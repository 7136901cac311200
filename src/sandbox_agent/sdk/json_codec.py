"""JSON for messages and stores.

msgspec does the work. The standard library takes over for legal JSON that msgspec refuses: lone surrogates,
and numbers beyond a double. The server passes an agent's bytes through unchanged, so both occur.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

_decoder = msgspec.json.Decoder()


def decode(data: bytes | str) -> Any:
    """The value of a JSON text; raises `ValueError` or `RecursionError` if it cannot be read."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return json.loads(data)


def encode(value: Any) -> bytes:
    """Compact JSON as UTF-8; lone surrogates are escaped."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        value = msgspec.to_builtins(value)
    except (msgspec.MsgspecError, TypeError):
        # Subclasses of str and int, which only the standard library writes.
        pass
    return json.dumps(value, separators=(",", ":")).encode()


def encode_text(value: Any) -> str:
    """Compact JSON as text."""
    return encode(value).decode()


def plain(value: Any) -> Any:
    """Convert models of the official ACP package to JSON values; other values stay as they are."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
