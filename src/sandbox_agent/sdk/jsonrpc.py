"""JSON-RPC messages as the SDK handles them, and the error codes it knows."""

from __future__ import annotations

from typing import Any

Envelope = dict[str, Any]
"""One JSON-RPC message."""

METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
AUTH_REQUIRED = -32000
"""ACP: the agent wants a login or an API key."""
RESOURCE_NOT_FOUND = -32002
"""ACP: the agent does not know the session or resource."""
REQUEST_CANCELLED = -32800
"""ACP: the request was cancelled with `$/cancel_request`."""


def error_response(request_id: Any, code: int, message: str) -> Envelope:
    """A JSON-RPC error response."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
