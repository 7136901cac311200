"""`initialize`: the client's name, version and capabilities, and how to read the agent's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.universal import meta
from sandbox_agent.version import version as package_version

PROTOCOL_VERSION = 1
NEWEST_VERSION = 2
"""The draft that the SDK understands beside version 1."""


def initialize_params(*, forms: bool, version: int = PROTOCOL_VERSION) -> dict[str, Any]:
    """The parameters of `initialize`; only capabilities that the SDK really serves are declared.

    An agent that does not know the version answers with its own, so the parameters of version 2 contain
    those of version 1.
    """
    capabilities: dict[str, Any] = {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
        # Without these an agent of version 1 must not send notices, compactions and options of type boolean.
        "session": {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}},
    }
    if forms:
        capabilities["elicitation"] = {"form": {}, "url": {}}
    capabilities = meta.with_meta(capabilities, extensions={"sessionRequestQuestion": True})
    info = {"name": "sandbox-agent-python", "title": "Sandbox Agent SDK", "version": package_version()}
    params: dict[str, Any] = {
        "protocolVersion": version,
        "clientInfo": info,
        "clientCapabilities": capabilities,
    }
    if version >= NEWEST_VERSION:
        of_v2 = {key: value for key, value in capabilities.items() if key in ("elicitation", "_meta")}
        params |= {"info": info, "capabilities": of_v2}
    return params


def agent_capabilities(result: Mapping[str, Any]) -> Any:
    """The `agentCapabilities` of an answer to `initialize`; those of version 2 in the same form."""
    if "agentCapabilities" in result or not isinstance(result.get("capabilities"), Mapping):
        return result.get("agentCapabilities")
    # In version 2 an agent that has logins has a logout too.
    auth: dict[str, Any] = {"auth": {"logout": {}}} if result.get("authMethods") else {}
    session = result["capabilities"].get("session")
    if not isinstance(session, Mapping):
        return auth
    prompt = session.get("prompt")
    offered = prompt if isinstance(prompt, Mapping) else {}
    return {
        **auth,
        "promptCapabilities": {key: value is not None for key, value in offered.items()},
        "sessionCapabilities": {
            "list": {},
            "resume": {},
            "close": {},
            **{name: {} for name in ("delete", "systemPrompt") if session.get(name) is not None},
        },
    }


def session_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of `session/new` and `session/resume` in version 2: every MCP server has a type."""
    servers = [
        {"type": "stdio", **one} if isinstance(one, Mapping) else one
        for one in params.get("mcpServers") or ()
    ]
    return {**params, "mcpServers": servers}
