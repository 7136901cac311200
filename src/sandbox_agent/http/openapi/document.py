"""The OpenAPI 3.1 document, generated from the route table and the declarations of the handlers.

Every routed handler is decorated with its `Operation`; `build` refuses a handler without one. Bodies and
parameters are described from their Python types, problem documents from `sandbox_agent.errors`. Nothing here
is imported before `/openapi.json` or `/docs` is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sandbox_agent.http.openapi import problem_responses
from sandbox_agent.http.openapi.components import Components, errors_by_status
from sandbox_agent.http.openapi.operation import Operation, Parameter, declared_operations

TAGS = {
    "acp": "Agent Client Protocol: one agent process per server id, messages in by POST, out as events.",
    "agents": "Which agents the server knows, whether they are installed, and installing them.",
    "files": "Files and directories of the sandbox.",
    "git": "What changed in a repository. Nothing is written, and nothing of the repository is executed.",
    "tool relays": "Tools of a client that the agent of one instance calls.",
    "processes": "Processes and terminals in the sandbox, with their output as a replayable log.",
    "config": "MCP servers and skills of a directory. Stored and returned, never acted upon.",
    "server": "The server itself.",
}


def build(handlers: Mapping[tuple[str, str], Callable[..., Any]], version: str) -> dict[str, Any]:
    """The document for these handlers by (method, path template).

    Raises:
        LookupError: a route without a declared operation, or an operation without a route.
    """
    declared = declared_operations()
    undeclared = [route for route, handler in handlers.items() if handler not in declared]
    unrouted = [declared[handler].id for handler in declared.keys() - set(handlers.values())]
    if undeclared or unrouted:
        raise LookupError(f"routes without operation: {undeclared}; operations without route: {unrouted}")
    operations = {route: declared[handler] for route, handler in handlers.items()}
    components = Components(operations.values())
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in operations.items():
        item = paths.setdefault(path, {})
        item[method.lower()] = _operation(operation, components)
        if operation.with_head:
            item["head"] = _head(operation, components)
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
            "schemas": components.schemas,
            "responses": components.responses,
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token the server was started with; not needed with --no-token.",
                }
            },
        },
    }


def _operation(operation: Operation, components: Components) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
    }
    if operation.description:
        described["description"] = operation.description
    if operation.is_public:
        described["security"] = []
    if operation.parameters:
        described["parameters"] = [_parameter(parameter, components) for parameter in operation.parameters]
    if operation.body is not None:
        described["requestBody"] = {
            "required": operation.body_required,
            "content": {operation.body.media_type: components.content(operation.body)},
        }
    described["responses"] = _responses(operation, components)
    return described


def _parameter(parameter: Parameter, components: Components) -> dict[str, Any]:
    described: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": components.schema(parameter.type),
    }
    if parameter.example is not None:
        described["example"] = parameter.example
    return described


def _responses(operation: Operation, components: Components) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, spec in operation.responses.items():
        response: dict[str, Any] = {"description": spec.description}
        responses[str(status)] = response
        if spec.headers:
            response["headers"] = {
                name: {"description": text, "schema": {"type": "string"}}
                for name, text in spec.headers.items()
            }
        if spec.content:
            response["content"] = {
                content.media_type: components.content(content) for content in spec.content
            }
        if spec.links:
            response["links"] = dict(spec.links)
    for status, kinds in errors_by_status(operation).items():
        responses[str(status)] = {"$ref": f"#/components/responses/{problem_responses.response_name(kinds)}"}
    return dict(sorted(responses.items()))


def _head(operation: Operation, components: Components) -> dict[str, Any]:
    """Like GET without any body."""
    described = _operation(operation, components)
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
