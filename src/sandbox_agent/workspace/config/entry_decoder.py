"""Decoding of one config entry into its typed form, with errors that name the field."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from sandbox_agent.errors import InvalidRequest

NEVER_NULL = ("args",)
"""Fields that have a default and are always written: `null` there is a mistake, not an absence."""

Entry = TypeVar("Entry", bound=msgspec.Struct)


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


def to_entry(fields: dict[str, Any], entry_type: type[Entry]) -> Entry:
    """`fields` as an entry of that type; nulls and unknown names are dropped.

    Raises:
        InvalidRequest: a field is missing or of the wrong type.
    """
    try:
        return msgspec.convert(without_nulls(fields), entry_type)
    except msgspec.ValidationError as exc:
        raise InvalidRequest(_with_field_first(str(exc))) from None


def _with_field_first(message: str) -> str:
    """msgspec names the field at the end, as `$.field`; the error text starts with it."""
    reason, _, where = message.partition(" - at ")
    field = where.strip("`").removeprefix("$").removeprefix(".")
    return f"{field}: {reason}" if field else reason
