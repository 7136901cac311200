"""JSON-RPC error codes, for the server and the SDK: of JSON-RPC 2.0, of ACP, of MCP."""

from __future__ import annotations

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

AUTH_REQUIRED = -32000
"""The agent wants a login or an API key."""
RESOURCE_NOT_FOUND = -32002
"""The agent does not know the session or resource."""
REQUEST_CANCELLED = -32800
"""The request was cancelled with `$/cancel_request`."""

MCP_CONNECTION_CLOSED = -32000
"""The other side of an MCP connection is gone."""
