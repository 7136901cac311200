"""JSON as it travels: fast on the common path, forgiving on the rare one.

The proxy passes an agent's bytes through untouched, so a client must read whatever JSON agents
write, numbers of any size and lone surrogates included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec

Envelope = dict[str, Any]
"""One JSON-RPC message."""

META = "sandboxagent.dev"
"""The product's own corner of every `_meta`."""

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


def product_meta(holder: Any) -> dict[str, Any]:
    """The content of `_meta["sandboxagent.dev"]` of an object, or an empty mapping."""
    meta = holder.get("_meta") if isinstance(holder, Mapping) else None
    ours = meta.get(META) if isinstance(meta, Mapping) else None
    return dict(ours) if isinstance(ours, Mapping) else {}


def with_meta(params: dict[str, Any], entries: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `params` whose `_meta["sandboxagent.dev"]` also holds `entries`."""
    if not entries:
        return params
    meta = dict(params.get("_meta") or {})
    meta[META] = {**dict(meta.get(META) or {}), **entries}
    return {**params, "_meta": meta}
