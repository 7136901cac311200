"""From the JSON of a config entry to its typed shape and back, with faults that name the field."""

from __future__ import annotations

from typing import Any

import msgspec

from sandbox_agent.errors import InvalidRequest

NEVER_NULL = ("args",)
"""Fields that have a default and are always written: `null` there is a mistake, not an absence."""


def json_object(entry: bytes | msgspec.Raw) -> dict[str, Any]:
    """A JSON object, decoded."""
    try:
        fields = msgspec.json.decode(entry)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidRequest(f"invalid JSON body: {exc}") from None
    if not isinstance(fields, dict):
        raise InvalidRequest("the body must be a JSON object")
    return fields


def without_nulls(value: Any) -> Any:
    """An object without the fields that are null; anything else as it is."""
    if not isinstance(value, dict):
        return value
    return {name: inner for name, inner in value.items() if inner is not None or name in NEVER_NULL}


def converted(fields: dict[str, Any], shape: type[msgspec.Struct]) -> bytes:
    """`fields` as JSON of that shape, without nulls and unknown names.

    Raises:
        InvalidRequest: a field is missing or of the wrong kind.
    """
    try:
        return msgspec.json.encode(msgspec.convert(without_nulls(fields), shape))
    except msgspec.ValidationError as exc:
        raise InvalidRequest(_naming_the_field(str(exc))) from None


def _naming_the_field(message: str) -> str:
    """msgspec puts the place at the end, as `$.field`; people read better with the field in front."""
    reason, _, where = message.partition(" - at ")
    field = where.strip("`").removeprefix("$").removeprefix(".")
    return f"{field}: {reason}" if field else reason
