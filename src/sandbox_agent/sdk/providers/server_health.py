"""Whether a server that is starting answers."""

from __future__ import annotations

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.transport.http_api import HttpApi


async def is_healthy(api: HttpApi) -> bool:
    try:
        answer = await api.request("GET", "/v1/health", retry=False)
    except SandboxAgentError:
        return False
    return bool(json_codec.decode(answer.content).get("status") == "ok")
