"""Another client of the server, which uses the same agents as the page."""

from __future__ import annotations

from tests.support.server_process import ServerProcess

_TURN_S = 120.0


def start_elsewhere(server: ServerProcess, server_id: str) -> str:
    """Open a session; returns the agent's id of it."""
    capabilities = {"protocolVersion": 1, "clientCapabilities": {}}
    server.acp.call(server_id, "initialize", capabilities, agent="mock")
    opened = server.acp.call(server_id, "session/new", {"cwd": str(server.home), "mcpServers": []})
    return str(opened["sessionId"])


def prompt_elsewhere(server: ServerProcess, server_id: str, session_id: str, text: str) -> None:
    params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    server.acp.call(server_id, "session/prompt", params, timeout=_TURN_S)
