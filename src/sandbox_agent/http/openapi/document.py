"""The OpenAPI 3.1 document, made from the route table and the typed bodies.

Each route is described by one `Operation` in `http/operations/`, found by its method and path, so the route
table itself stays light: nothing here is imported before someone asks for `/openapi.json` or `/docs`. `build`
refuses a route without a description and a description without a route. The problem documents come from
`sandbox_agent.errors`, the bodies from their msgspec structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sandbox_agent import errors
from sandbox_agent.http.openapi import problem_responses as problems
from sandbox_agent.http.openapi.operations.operation import Content, Operation, Parameter, Schema
from sandbox_agent.http.openapi.problem_responses import Kind

_REF = "#/components/schemas/{name}"


def described() -> dict[tuple[str, str], Operation]:
    """All operations by method and path."""
    from sandbox_agent.http.openapi.operations import acp, agents, config, files, server

    found: dict[tuple[str, str], Operation] = {}
    for module in (server, acp, agents, files, config):
        found.update(module.OPERATIONS)
    return found


def build(routes: Iterable[tuple[str, str]], version: str) -> dict[str, Any]:
    """The document for these routes, given as (method, path template).

    Raises:
        LookupError: routes and descriptions do not match.
    """
    operations = described()
    wanted = {(method, path) for method, path in routes if method != "HEAD" and not path.startswith("/ui")}
    if wanted != operations.keys():
        undescribed, unrouted = sorted(wanted - operations.keys()), sorted(operations.keys() - wanted)
        raise LookupError(f"routes without description: {undescribed}; without route: {unrouted}")
    schemas = _Schemas(operations.values())
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in operations.items():
        item = paths.setdefault(path, {})
        item[method.lower()] = _operation(operation, schemas)
        if operation.with_head:
            item["head"] = _head(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sandbox Agent",
            "version": version,
            "description": "One HTTP API for every coding agent: ACP over HTTP, files, config and agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/", "description": "The server that sent this document"}],
        "security": [{"bearer": []}, {}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": schemas.responses,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token the server was started with; not needed with --no-token.",
                }
            },
        },
    }


TAGS = {
    "acp": "Agent Client Protocol: one agent process per server id, messages in by POST, out as events.",
    "agents": "Which agents the server knows, whether they are installed, and installing them.",
    "files": "Files and directories of the sandbox.",
    "config": "MCP servers and skills of a directory. Stored and returned, never acted upon.",
    "server": "The server itself.",
}


class _Schemas:
    """All component schemas; gives a reference or an inline schema for each use."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        types: dict[Any, None] = {}
        by_kinds: dict[str, list[Kind]] = {}
        for operation in operations:
            for content in (*operation.body, *(c for a in operation.answers.values() for c in a.content)):
                if not isinstance(content.schema, Mapping):
                    types[content.schema] = None
            for kinds in _errors_by_status(operation).values():
                by_kinds[problems.response_name(kinds)] = kinds
        inline, components = msgspec.json.schema_components(list(types), ref_template=_REF)
        self._inline = dict(zip(types, inline, strict=True))
        self.components: dict[str, Any] = dict(sorted(components.items()))
        used = {kind for kinds in by_kinds.values() for kind in kinds}
        for kind in sorted(used, key=lambda kind: kind.kind):
            self.components[problems.problem_name(kind)] = problems.problem_schema(kind)
        self.responses = {name: problems.response(kinds) for name, kinds in sorted(by_kinds.items())}

    def of(self, schema: Schema) -> Mapping[str, Any]:
        return schema if isinstance(schema, Mapping) else self._inline[schema]


def _operation(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    if operation.description:
        described["description"] = operation.description
    if operation.open:
        described["security"] = []
    parameters = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": text,
            "schema": {"type": "string"},
            "example": example,
        }
        for name, (text, example) in operation.path_parameters.items()
    ]
    parameters += [_parameter(parameter) for parameter in operation.parameters]
    if parameters:
        described["parameters"] = parameters
    if operation.body:
        described["requestBody"] = {
            "required": operation.body_required,
            "content": _contents(operation.body, schemas),
        }
    described["responses"] = _responses(operation, schemas)
    return described


def _parameter(parameter: Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.where,
        "required": parameter.required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }
    if parameter.example is not None:
        described["example"] = parameter.example
    return described


def _contents(contents: Sequence[Content], schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {}
    for content in contents:
        entry: dict[str, Any] = {"schema": schemas.of(content.schema)}
        if content.examples:
            entry["examples"] = {name: {"value": value} for name, value in content.examples.items()}
        elif content.example is not None:
            entry["example"] = content.example
        described[content.media_type] = entry
    return described


def _responses(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, answer in operation.answers.items():
        response: dict[str, Any] = {"description": answer.description}
        responses[str(status)] = response
        if answer.headers:
            response["headers"] = {
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in answer.headers.items()
            }
        if answer.content:
            response["content"] = _contents(answer.content, schemas)
        if answer.links:
            response["links"] = dict(answer.links)
    for status, kinds in _errors_by_status(operation).items():
        responses[str(status)] = {"$ref": f"#/components/responses/{problems.response_name(kinds)}"}
    return dict(sorted(responses.items()))


def _errors_by_status(operation: Operation) -> dict[int, list[Kind]]:
    kinds: set[Kind] = {*problems.EVERYWHERE, *operation.errors}
    if not operation.open:
        kinds.add(errors.TokenInvalid)
    by_status: dict[int, list[Kind]] = {}
    for kind in sorted(kinds, key=lambda kind: (kind.status, kind.kind)):
        by_status.setdefault(kind.status, []).append(kind)
    return by_status


def _head(operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    """Like GET without any body."""
    described = _operation(operation, schemas)
    described["operationId"] += "Head"
    described["summary"] += " (headers only)"
    described["parameters"] = [p for p in described.get("parameters", ()) if p["name"] != "Range"]
    described["responses"] = {
        status: {"description": _head_description(response)}
        for status, response in described["responses"].items()
        if status not in ("206", "416")
    }
    return described


def _head_description(response: dict[str, Any]) -> str:
    return response.get("description") or str(response["$ref"]).rpartition("/")[2]


if __name__ == "__main__":
    import sys

    from sandbox_agent.http.endpoints.api_docs import document_bytes

    sys.stdout.buffer.write(document_bytes())
