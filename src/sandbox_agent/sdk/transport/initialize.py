"""The parameters of `initialize`: the client's name, version and capabilities."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal import meta
from sandbox_agent.version import version

PROTOCOL_VERSION = 1


def initialize_params(*, forms: bool) -> dict[str, Any]:
    """The parameters of `initialize`; only capabilities that the SDK really serves are declared."""
    capabilities: dict[str, Any] = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    if forms:
        capabilities["elicitation"] = {"form": {}}
    capabilities = meta.with_meta(capabilities, extensions={"sessionRequestQuestion": True})
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientInfo": {
            "name": "sandbox-agent-python",
            "title": "Sandbox Agent SDK",
            "version": version(),
        },
        "clientCapabilities": capabilities,
    }
