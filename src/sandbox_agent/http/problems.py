"""Problem documents (RFC 9457): the body of every failure of every endpoint."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http.messages import Response

PROBLEM_JSON = b"application/problem+json"


class Problem(msgspec.Struct, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A problem document; which extension members it has depends on the kind of error."""

    type: str
    title: str
    status: int
    detail: str
    agent: str | UnsetType = UNSET
    session_id: str | UnsetType = UNSET
    details: dict[str, Any] | UnsetType = UNSET


def problem_type(kind: type[SandboxAgentError]) -> str:
    return f"urn:sandbox-agent:error:{kind.kind}"


def document(error: SandboxAgentError) -> Problem:
    """The problem document of an error."""
    head = {
        "type": problem_type(type(error)),
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
    }
    # Ids and paths from outside may hold lone surrogates, which UTF-8 cannot encode: they become `?`.
    return msgspec.convert(_printable({**head, **error.extensions}), Problem)


def encode(error: SandboxAgentError) -> bytes:
    return msgspec.json.encode(document(error))


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_printable(item) for item in value]
    return value


def response(error: SandboxAgentError) -> Response:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in error.headers.items()]
    return Response(error.status, encode(error), headers, PROBLEM_JSON)
