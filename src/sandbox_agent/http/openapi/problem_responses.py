"""Problem documents in OpenAPI: a schema and an example per kind of error, a response per set of kinds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from sandbox_agent import errors
from sandbox_agent.http.problems import PROBLEM_JSON, Problem, document, problem_type

Kind = type[errors.SandboxAgentError]

EVERYWHERE: tuple[Kind, ...] = (
    errors.InvalidRequest,
    errors.ForbiddenOrigin,
    errors.RequestTimeout,
    errors.MisdirectedRequest,
    errors.HeadersTooLarge,
    errors.InternalError,
    errors.OutOfDescriptors,
    errors.ServerStopping,
)
"""Errors any request can get before its endpoint is reached, or through a fault of the server."""


def response_name(kinds: Sequence[Kind]) -> str:
    return "".join(kind.__name__ for kind in kinds)


def response(kinds: Sequence[Kind]) -> dict[str, Any]:
    """The response of a status that stands for one or several kinds."""
    references = [{"$ref": f"#/components/schemas/{problem_name(kind)}"} for kind in kinds]
    return {
        "description": ", or ".join(f"{kind.title} (`{problem_type(kind)}`)" for kind in kinds),
        "content": {
            PROBLEM_JSON.decode(): {
                "schema": references[0] if len(references) == 1 else {"oneOf": references},
                "examples": {kind.kind: {"value": problem_example(kind)} for kind in kinds},
            }
        },
    }


def problem_name(kind: Kind) -> str:
    return f"Problem{kind.__name__}"


def problem_schema(kind: Kind) -> dict[str, Any]:
    """The schema of `Problem`, narrowed to one kind: fixed type, title and status, its own extensions."""
    fixed = {"type": problem_type(kind), "title": kind.title, "status": kind.status}
    extensions = PROBLEM_EXAMPLES[kind].extensions
    required = ["type", "title", "status", "detail"]
    if kind is not errors.NotFound:  # a route that does not exist has no resource to name
        required += extensions
    properties = {
        name: {"const": fixed[name]} if name in fixed else schema
        for name, schema in _problem_properties().items()
        if name in (*required, *extensions)
    }
    return {"type": "object", "properties": properties, "required": required}


@cache
def _problem_properties() -> dict[str, Any]:
    schema = msgspec.json.schema_components([Problem])[1]["Problem"]
    properties: dict[str, Any] = schema["properties"]
    return properties


def problem_example(kind: Kind) -> Any:
    return msgspec.to_builtins(document(PROBLEM_EXAMPLES[kind]))


PROBLEM_EXAMPLES: dict[Kind, errors.SandboxAgentError] = {
    type(error): error
    for error in (
        errors.InvalidRequest("missing required 'path' query parameter"),
        errors.UnsupportedAgent("unknown"),
        errors.TokenInvalid(),
        errors.PermissionDenied("/etc/shadow"),
        errors.ForbiddenOrigin("https://elsewhere.example"),
        errors.NotFound.resource("path", "/home/user/missing.txt"),
        errors.SessionNotFound("my-session"),
        errors.AgentNotInstalled("claude"),
        errors.NotAcceptable("accept must allow application/json"),
        errors.RequestTimeout("the request body did not arrive within 30 s"),
        errors.Conflict("server 'my-session' already exists for agent 'claude'; requested 'mock'"),
        errors.PreconditionFailed("the file is not the one asked for: /home/user/notes.txt"),
        errors.PayloadTooLarge("the body exceeds 2097152 bytes", 2097152),
        errors.UnsupportedMediaType("content-type must be application/json"),
        errors.RangeNotSatisfiable("bytes=100-", 12),
        errors.MisdirectedRequest("rebound.example"),
        errors.TooManyStreams(1024),
        errors.HeadersTooLarge(65536),
        errors.InstallFailed("claude", "npm: not found"),
        errors.InternalError(),
        errors.AgentProcessExited("claude", exit_code=7, stderr="no API key"),
        errors.StreamError("failed to start agent process: no such file"),
        errors.TooManyInstances(1000),
        errors.OutOfDescriptors(),
        errors.ServerStopping(),
        errors.Timeout(),
    )
}
