"""JSON text of what is stored: exact on the way back, key order included.

msgspec does the work; the standard library takes over for what msgspec refuses (lone surrogates,
numbers beyond a double), so that whatever an agent sent can be stored and read again.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec


def to_text(value: Any) -> str:
    """The JSON text of a value."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))


def from_text(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises `ValueError` if it is none.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(text)


def optional_text(value: Any) -> str | None:
    """Like `to_text`, but nothing stays nothing."""
    return None if value is None else to_text(value)


def optional_value(text: str | bytes | None) -> Any:
    """Like `from_text`, but nothing stays nothing."""
    return None if text is None else from_text(text)
