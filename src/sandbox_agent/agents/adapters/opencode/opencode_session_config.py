"""The config options of an OpenCode session, and its prompts and MCP servers in OpenCode's format."""

from __future__ import annotations

from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart, PromptText

_DEFAULT_MODE = "build"
# Its server does not say which model it takes if neither the client nor its config names one.
_OWN_CHOICE = ConfigValue("default", "OpenCode's choice")


def config_options(agents: list[Message], providers: Message, config: Message) -> ConfigOptions:
    """From the answers to `/agent`, `/config/providers` and `/config`."""
    mode = _mode_option(agents, config)
    own = next((agent.get("model") for agent in agents if agent.get("name") == mode.current), None)
    configured = f"{own['providerID']}/{own['modelID']}" if own else str(config.get("model") or "")
    return ConfigOptions([mode, _model_option(providers, configured)])


def prompt_body(session: NativeSession, parts: list[PromptPart]) -> Message:
    """The prompt; a model or mode that the client has not set is left to OpenCode and its config."""
    body: Message = {"parts": [_part(part) for part in parts]}
    chosen = session.config["model"]
    if chosen.is_selected and chosen.current != _OWN_CHOICE.id:
        provider, _, model = chosen.current.partition("/")
        body["model"] = {"providerID": provider, "modelID": model}
    if session.config["mode"].is_selected:
        body["agent"] = session.config.current("mode")
    return body


def mcp_body(server: McpServer) -> Message:
    if isinstance(server, StdioMcpServer):
        command = [server.command, *server.args]
        config: Message = {"type": "local", "command": command, "environment": server.env}
    else:
        config = {"type": "remote", "url": server.url, "headers": server.headers}
    return {"name": server.name, "config": config | {"enabled": True}}


def _mode_option(agents: list[Message], config: Message) -> ConfigOption:
    primary = [agent for agent in agents if agent.get("mode") != "subagent" and not agent.get("hidden")]
    values = [
        ConfigValue(str(agent["name"]), str(agent["name"]).capitalize(), str(agent.get("description") or ""))
        for agent in primary
    ]
    names = [value.id for value in values]
    preferred = [str(config.get("default_agent")), _DEFAULT_MODE, *names]
    current = next((name for name in preferred if name in names), _DEFAULT_MODE)
    return ConfigOption("mode", "Mode", current, values, "mode")


def _model_option(providers: Message, configured: str) -> ConfigOption:
    values = [
        ConfigValue(f"{provider['id']}/{model_id}", str(model.get("name") or model_id))
        for provider in providers.get("providers") or []
        for model_id, model in (provider.get("models") or {}).items()
    ]
    if any(value.id == configured for value in values):
        return ConfigOption("model", "Model", configured, values, "model")
    return ConfigOption("model", "Model", _OWN_CHOICE.id, [_OWN_CHOICE, *values], "model")


def _part(part: PromptPart) -> Message:
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    url = f"data:{part.mime_type};base64,{part.data}"
    return {"type": "file", "mime": part.mime_type, "url": url}
