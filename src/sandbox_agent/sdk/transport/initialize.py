"""The parameters of `initialize`: who the client is and which capabilities it serves."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal import meta

PROTOCOL_VERSION = 1
CLIENT_INFO = {"name": "sandbox-agent-python", "title": "Sandbox Agent SDK", "version": "0.1.0"}


def initialize_params(*, forms: bool) -> dict[str, Any]:
    """What we tell an agent about ourselves: only what we really serve."""
    capabilities: dict[str, Any] = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    if forms:
        capabilities["elicitation"] = {"form": {}}
    capabilities = meta.with_meta(capabilities, extensions={"sessionRequestQuestion": True})
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientInfo": CLIENT_INFO,
        "clientCapabilities": capabilities,
    }
