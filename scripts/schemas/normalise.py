"""Reduce the JSON schema of an agent to the part from which the types are generated.

Only the used types and fields stay, without descriptions. Unions of objects become `Any`: their
members are separate types, and the converter selects one by its tag. Enumerations become strings, so a new
value of a newer agent is not an error. A field that may be null may also be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Schema = dict[str, Any]


class SchemaMismatch(Exception):
    """The agent's schema lacks a type or field that an adapter reads."""


def normalise(definitions: Mapping[str, Schema], used: Mapping[str, str]) -> Schema:
    """The used part of `definitions` as one JSON schema; raises `SchemaMismatch`."""
    known = dict(definitions)
    for definition in definitions.values():
        for member in _members(definition):
            if "title" in member:
                known.setdefault(member["title"], member)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {name: _type(name, fields.split(), known, used) for name, fields in used.items()},
    }


def _type(name: str, fields: list[str], known: Mapping[str, Schema], used: Mapping[str, str]) -> Schema:
    if name not in known:
        raise SchemaMismatch(f"type {name} is gone")
    properties, required = _properties(known[name], known)
    if missing := [field for field in fields if field not in properties]:
        raise SchemaMismatch(f"{name} has no {', '.join(missing)}; it has {', '.join(sorted(properties))}")
    present = [field for field in fields if field in required and not _nullable(properties[field])]
    reduced = {field: _reduced(properties[field], known, used) for field in fields}
    return {"type": "object", "properties": reduced, "required": present}


def _properties(schema: Schema, known: Mapping[str, Schema]) -> tuple[dict[str, Schema], set[str]]:
    """The properties of a type and of all types it is composed of."""
    while "$ref" in schema:
        schema = known[schema["$ref"].rpartition("/")[2]]
    properties, required = dict(schema.get("properties", {})), set(schema.get("required", []))
    for part in schema.get("allOf", []):
        more, also = _properties(part, known)
        properties, required = properties | more, required | also
    return properties, required


def _reduced(schema: Schema | bool, known: Mapping[str, Schema], used: Mapping[str, str]) -> Schema:
    if isinstance(schema, bool):
        return {}
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name in used:
            return {"$ref": f"#/$defs/{name}"}
        target = known.get(name, {})
        return _reduced(target, known, used) if target.get("type") != "object" else {}
    branches = [branch for key in ("anyOf", "oneOf", "allOf") for branch in schema.get(key, [])]
    if branches:
        non_null = [_reduced(branch, known, used) for branch in branches if branch.get("type") != "null"]
        distinct = [item for index, item in enumerate(non_null) if item not in non_null[:index]]
        if len(distinct) != 1:
            return {}
        return {"anyOf": [distinct[0], {"type": "null"}]} if len(non_null) < len(branches) else distinct[0]
    kind = schema.get("type")
    if kind is None:
        word = schema.get("const", (schema.get("enum") or [None])[0])
        return {"type": "string"} if isinstance(word, str) else {}
    if "array" in _kinds(kind):
        return {"type": kind, "items": _reduced(schema.get("items", {}), known, used)}
    return {"type": kind} if "object" not in _kinds(kind) else {"type": kind, "additionalProperties": True}


def _nullable(schema: Schema | bool) -> bool:
    if isinstance(schema, bool):
        return True
    branches = [branch for key in ("anyOf", "oneOf") for branch in schema.get(key, [])]
    return "null" in _kinds(schema.get("type")) or any(branch.get("type") == "null" for branch in branches)


def _kinds(kind: str | list[str] | None) -> list[str]:
    return kind if isinstance(kind, list) else [kind or ""]


def _members(schema: Schema) -> Iterator[Schema]:
    for key in ("anyOf", "oneOf"):
        yield from (branch for branch in schema.get(key, []) if branch.get("type") == "object")
