"""The parameters of `initialize`: the client's name, version and capabilities."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from sandbox_agent.sdk.universal import meta

PROTOCOL_VERSION = 1

_version = cache(version)  # reads a file


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
            "version": _version("sandbox-agent"),
        },
        "clientCapabilities": capabilities,
    }
