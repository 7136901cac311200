"""`system_prompt` and `allowed_tools` of a session, in the parameters of `session/new`.

Not every agent has a place for them. The server's catalogue names the one for tools; the agent itself says
whether it takes a system prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import UnsupportedSessionOptionError
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.session.session_options import SessionOptions
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.universal import meta


async def with_agent_options(
    api: HttpApi, agent: str, init: Mapping[str, Any], options: SessionOptions
) -> dict[str, Any]:
    """The parameters with what the options ask for; raises `UnsupportedSessionOptionError`."""
    params = dict(init)
    text = options.get("system_prompt")
    if text:
        params["systemPrompt"] = {"mode": "append", "content": [{"type": "text", "text": text}]}
    allowed = options.get("allowed_tools")
    if allowed is not None:
        place = (await AsyncAgents(api).get(agent)).allowed_tools_parameter
        if place is None:
            raise UnsupportedSessionOptionError("allowed_tools", agent, "no setting of it for that is known")
        params = _with_value(params, place.split("."), list(allowed))
    return params


def check_system_prompt(instance: AgentInstance, init: Mapping[str, Any]) -> None:
    """Raise `UnsupportedSessionOptionError` if the agent would ignore the system prompt."""
    if init.get("systemPrompt") is not None and not instance.offers("sessionCapabilities", "systemPrompt"):
        raise UnsupportedSessionOptionError("system_prompt", instance.agent, "it does not offer it over ACP")


def kept_parameters(init: Mapping[str, Any]) -> dict[str, Any]:
    """What an agent that restores a session has to be told again."""
    kept: dict[str, Any] = {}
    if init.get("systemPrompt") is not None:
        kept["systemPrompt"] = init["systemPrompt"]
    own = {key: value for key, value in (init.get("_meta") or {}).items() if key != meta.NAMESPACE}
    return {**kept, "_meta": own} if own else kept


def _with_value(params: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    first, *rest = path
    inner = params.get(first)
    below = _with_value(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value
    return {**params, first: below}
