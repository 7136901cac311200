"""One table from error to problem+json: every failure of every endpoint leaves the house through here."""

from __future__ import annotations

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http.messages import Response

PROBLEM_JSON = b"application/problem+json"


def document(error: SandboxAgentError) -> dict[str, object]:
    """The problem document: type, title, status, detail, then the extensions."""
    return {
        "type": f"urn:sandbox-agent:error:{error.kind}",
        "title": error.title,
        "status": error.status,
        "detail": error.detail,
        **error.extensions,
    }


def encode(error: SandboxAgentError) -> bytes:
    import msgspec.json  # a server that nothing goes wrong with need not load it here

    # Ids and paths come from outside and may hold lone surrogates, which JSON can only carry as text.
    return msgspec.json.encode(_printable(document(error)))


def _printable(value: object) -> object:
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
