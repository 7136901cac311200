"""The shared parts of the OpenAPI document: component schemas from typed bodies, problem responses."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from sandbox_agent import errors
from sandbox_agent.http.openapi import problem_responses
from sandbox_agent.http.openapi.operation import Content, Operation
from sandbox_agent.http.openapi.problem_responses import Kind

_REF = "#/components/schemas/{name}"


class Components:
    """The component schemas and responses of some operations; resolves a type to its schema."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        types: dict[Any, None] = {}
        by_kinds: dict[str, list[Kind]] = {}
        for operation in operations:
            types.update((kind, None) for content in operation.contents for kind in _types(content))
            types.update((parameter.type, None) for parameter in operation.parameters)
            for kinds in errors_by_status(operation).values():
                by_kinds[problem_responses.response_name(kinds)] = kinds
        inline, schemas = msgspec.json.schema_components(list(types), ref_template=_REF)
        self._inline: dict[Any, dict[str, Any]] = dict(zip(types, inline, strict=True))
        for schema in schemas.values():
            # The docstring of a struct, which Python 3.13 stores without its indentation.
            if "description" in schema:
                schema["description"] = inspect.cleandoc(schema["description"])
        self.schemas: dict[str, Any] = dict(sorted(schemas.items()))
        used = {kind for kinds in by_kinds.values() for kind in kinds}
        for kind in sorted(used, key=lambda kind: kind.kind):
            self.schemas[problem_responses.problem_name(kind)] = problem_responses.problem_schema(kind)
        self.responses = {name: problem_responses.response(kinds) for name, kinds in sorted(by_kinds.items())}

    def schema(self, used_type: Any) -> dict[str, Any]:
        return self._inline[used_type]

    def content(self, content: Content) -> dict[str, Any]:
        """One entry of an OpenAPI `content` map."""
        schemas = [self._inline[kind] for kind in _types(content)]
        schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        entry: dict[str, Any] = {
            "schema": {"description": content.description, **schema} if content.description else schema
        }
        if content.examples:
            entry["examples"] = {
                name: {"value": msgspec.to_builtins(value)} for name, value in content.examples.items()
            }
        elif content.example is not None:
            entry["example"] = msgspec.to_builtins(content.example)
        return entry


def _types(content: Content) -> tuple[Any, ...]:
    return content.type if isinstance(content.type, tuple) else (content.type,)


def errors_by_status(operation: Operation) -> dict[int, list[Kind]]:
    """The kinds of errors an operation can return, those of every request included."""
    kinds: set[Kind] = {*problem_responses.EVERYWHERE, *operation.errors}
    if not operation.is_public:
        kinds.add(errors.TokenInvalid)
    by_status: dict[int, list[Kind]] = {}
    for kind in sorted(kinds, key=lambda kind: (kind.status, kind.kind)):
        by_status.setdefault(kind.status, []).append(kind)
    return by_status
