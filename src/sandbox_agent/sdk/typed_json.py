"""The JSON schema of a Python type, and JSON checked against it.

msgspec knows data classes, its own structs, typed dictionaries and the built-in types. pydantic is used only
for types that need it, and need not be installed.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")


class TypedJson(Generic[T]):
    """A type that JSON is checked against; raises `TypeError` for a type without a JSON schema."""

    def __init__(self, wanted: type[T]) -> None:
        self.type = wanted
        self._adapter = _pydantic_adapter(wanted)
        self.schema: dict[str, Any] = _schema(wanted, self._adapter)

    @property
    def name(self) -> str:
        return getattr(self.type, "__name__", None) or str(self.type)

    def decode(self, text: str) -> T:
        """The value of a JSON text; raises `ValueError` that says what does not fit."""
        if self._adapter is not None:
            # pydantic's ValidationError is a ValueError.
            return cast("T", self._adapter.validate_json(text))
        return msgspec.json.decode(text.encode(), type=self.type)

    def convert(self, value: Any) -> T:
        """The value of decoded JSON; raises `ValueError` that says what does not fit."""
        if self._adapter is not None:
            return cast("T", self._adapter.validate_python(value))
        return msgspec.convert(value, self.type)


def to_json(value: Any) -> str:
    """A value as JSON: anything that msgspec encodes, or a model of pydantic."""
    return msgspec.json.encode(value, enc_hook=_encode_other).decode()


def _encode_other(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")
    return dump(mode="json")


def _schema(wanted: Any, adapter: Any) -> dict[str, Any]:
    if adapter is not None:
        return dict(adapter.json_schema())
    try:
        return msgspec.json.schema(wanted)
    except TypeError as error:
        raise TypeError(f"{wanted!r} has no JSON schema: {error}") from error


def _pydantic_adapter(wanted: Any) -> Any:
    """The adapter of pydantic for a type that only pydantic understands; else None."""
    if not hasattr(wanted, "__pydantic_core_schema__") and _msgspec_knows(wanted):
        return None
    try:
        from pydantic import TypeAdapter  # optional: only types that need it load it

        return TypeAdapter(wanted)
    except Exception:
        return None  # `_schema` says what is wrong with the type.


def _msgspec_knows(wanted: Any) -> bool:
    try:
        msgspec.json.schema(wanted)
    except TypeError:
        return False
    return True
