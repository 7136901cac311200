"""JSON-RPC messages as the SDK handles them."""

from __future__ import annotations

from typing import Any

Envelope = dict[str, Any]
"""One JSON-RPC message."""


def error_response(request_id: Any, code: int, message: str) -> Envelope:
    """A JSON-RPC error response."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}
