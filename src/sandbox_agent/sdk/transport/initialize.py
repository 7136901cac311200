"""The parameters of `initialize`: the client's name, version and capabilities."""

from __future__ import annotations

from functools import cache
from typing import Any

from sandbox_agent.sdk.universal import meta

PROTOCOL_VERSION = 1


@cache
def _version() -> str:
    # Imported on first use: it takes 10 ms and only connections need it.
    from importlib.metadata import version

    return version("sandbox-agent")


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
            "version": _version(),
        },
        "clientCapabilities": capabilities,
    }
