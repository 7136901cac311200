"""The MCP server of a session's tools: answers to the messages of the agent's MCP client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_agent.jsonrpc_error_codes import INVALID_PARAMS, METHOD_NOT_FOUND
from sandbox_agent.sdk.jsonrpc import Envelope, error_response
from sandbox_agent.sdk.tools.tool import Tool
from sandbox_agent.version import version as package_version

log = logging.getLogger("sandbox_agent")

PROTOCOL_VERSION = "2025-06-18"


class McpServer:
    """Answers `initialize`, `ping`, `tools/list` and `tools/call`."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {one.name: one for one in tools}

    async def answer(self, request: Mapping[str, Any]) -> Envelope:
        """The answer to a request."""
        params = request.get("params")
        fields: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
        match request.get("method"):
            case "initialize":
                result = self._initialize(fields)
            case "ping":
                result = {}
            case "tools/list":
                result = {"tools": [_listed(one) for one in self._tools.values()]}
            case "tools/call":
                chosen = self._tools.get(str(fields.get("name")))
                if chosen is None:
                    known = ", ".join(self._tools)
                    text = f"there is no tool {fields.get('name')!r}; there are {known}"
                    return error_response(request.get("id"), INVALID_PARAMS, text)
                result = await _called(chosen, fields.get("arguments") or {})
            case method:
                return error_response(request.get("id"), METHOD_NOT_FOUND, f"Method not found: {method}")
        return {"jsonrpc": "2.0", "id": request.get("id"), "result": result}

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": params.get("protocolVersion") or PROTOCOL_VERSION,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "sandbox-agent-python", "version": package_version()},
        }


def _listed(one: Tool) -> dict[str, Any]:
    return {"name": one.name, "description": one.description, "inputSchema": dict(one.schema)}


async def _called(chosen: Tool, arguments: Any) -> dict[str, Any]:
    """The result of a call; an exception of the tool is a result that the model can read."""
    try:
        if not isinstance(arguments, Mapping):
            raise ValueError(f"the arguments are an object, not {arguments!r}")
        text = await chosen.run(arguments)
    except asyncio.CancelledError:
        raise
    except Exception as error:
        log.debug("the tool %s failed", chosen.name, exc_info=True)
        return {"content": [_text(f"{type(error).__name__}: {error}")], "isError": True}
    return {"content": [_text(text)]}


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
