"""Problem documents in OpenAPI: a schema and an example per kind of error, a response per set of kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sandbox_agent import errors

PROBLEM = "application/problem+json"
Kind = type[errors.SandboxAgentError]

EVERYWHERE: tuple[Kind, ...] = (
    errors.InvalidRequest,
    errors.ForbiddenOrigin,
    errors.RequestTimeout,
    errors.MisdirectedRequest,
    errors.HeadersTooLarge,
    errors.InternalError,
    errors.ServerStopping,
)
"""Answers any request can get before its endpoint is reached, or when the server is at fault."""


def response_name(kinds: Sequence[Kind]) -> str:
    return "".join(kind.__name__ for kind in kinds)


def response(kinds: Sequence[Kind]) -> dict[str, Any]:
    """The answer of a status that stands for one or several kinds."""
    references = [{"$ref": f"#/components/schemas/{problem_name(kind)}"} for kind in kinds]
    return {
        "description": ", or ".join(f"{kind.title} (`{problem_type(kind)}`)" for kind in kinds),
        "content": {
            PROBLEM: {
                "schema": references[0] if len(references) == 1 else {"oneOf": references},
                "examples": {kind.kind: {"value": problem_example(kind)} for kind in kinds},
            }
        },
    }


def problem_type(kind: Kind) -> str:
    return f"urn:sandbox-agent:error:{kind.kind}"


def problem_name(kind: Kind) -> str:
    return f"Problem{kind.__name__}"


def problem_schema(kind: Kind) -> dict[str, Any]:
    """A problem document (RFC 9457) of one kind: fixed type, title and status, free detail and extensions."""
    properties: dict[str, Any] = {
        "type": {"const": problem_type(kind)},
        "title": {"const": kind.title},
        "status": {"const": kind.status},
        "detail": {"type": "string"},
    }
    required = ["type", "title", "status", "detail"]
    for name, value in PROBLEM_EXAMPLES[kind].extensions.items():
        properties[name] = {"type": "object"} if isinstance(value, dict) else {"type": "string"}
        if kind is not errors.NotFound:  # a route that does not exist has nothing to name
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


def problem_example(kind: Kind) -> dict[str, Any]:
    error = PROBLEM_EXAMPLES[kind]
    return {
        "type": problem_type(kind),
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        **error.extensions,
    }


PROBLEM_EXAMPLES: dict[Kind, errors.SandboxAgentError] = {
    type(error): error
    for error in (
        errors.InvalidRequest("missing required 'path' query parameter"),
        errors.UnsupportedAgent("nobody"),
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
        errors.ServerStopping(),
        errors.Timeout(),
    )
}
