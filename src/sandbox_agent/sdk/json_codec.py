"""JSON as it travels: fast on the common path, forgiving on the rare one.

The proxy passes an agent's bytes through untouched, so a client must read whatever JSON agents
write, numbers of any size and lone surrogates included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

_decoder = msgspec.json.Decoder()


def decode(data: bytes) -> Any:
    """Parse JSON, falling back to the standard library for what the fast parser refuses."""
    try:
        return _decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return json.loads(data)


def encode(value: Any) -> bytes:
    """Write JSON as UTF-8 bytes; text with lone surrogates is escaped."""
    try:
        return msgspec.json.encode(value)
    except (msgspec.MsgspecError, UnicodeEncodeError, TypeError):
        return json.dumps(value).encode()


def plain(value: Any) -> Any:
    """Turn ACP model objects of the official package into plain JSON values; leave the rest alone."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
