"""The config options of an OpenCode session, and its prompts and MCP servers in OpenCode's format."""

from __future__ import annotations

from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.prompt import PromptPart, PromptText

_DEFAULT_MODE = "build"


def config_options(agents: list[Message], providers: Message) -> ConfigOptions:
    """From the answers to `/agent` and `/config/providers`."""
    return ConfigOptions([_mode_option(agents), _model_option(providers)])


def prompt_body(session: NativeSession, parts: list[PromptPart]) -> Message:
    body: Message = {"parts": [_part(part) for part in parts]}
    provider, _, model = session.config.current("model").partition("/")
    if model:
        body["model"] = {"providerID": provider, "modelID": model}
    body["agent"] = session.config.current("mode")
    return body


def mcp_body(server: McpServer) -> Message:
    if isinstance(server, StdioMcpServer):
        command = [server.command, *server.args]
        config: Message = {"type": "local", "command": command, "environment": server.env}
    else:
        config = {"type": "remote", "url": server.url, "headers": server.headers}
    return {"name": server.name, "config": config | {"enabled": True}}


def _mode_option(agents: list[Message]) -> ConfigOption:
    primary = [agent for agent in agents if agent.get("mode") != "subagent" and not agent.get("hidden")]
    values = [
        ConfigValue(str(agent["name"]), str(agent["name"]).capitalize(), str(agent.get("description") or ""))
        for agent in primary
    ]
    names = [value.id for value in values]
    current = _DEFAULT_MODE if _DEFAULT_MODE in names or not names else names[0]
    return ConfigOption("mode", "Mode", current, values, "mode")


def _model_option(providers: Message) -> ConfigOption:
    values = [
        ConfigValue(f"{provider['id']}/{model_id}", str(model.get("name") or model_id))
        for provider in providers.get("providers") or []
        for model_id, model in (provider.get("models") or {}).items()
    ]
    defaults = [f"{provider}/{model}" for provider, model in (providers.get("default") or {}).items()]
    known = [value.id for value in values]
    current = next((model for model in defaults if model in known), known[0] if known else "")
    return ConfigOption("model", "Model", current, values, "model")


def _part(part: PromptPart) -> Message:
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    url = f"data:{part.mime_type};base64,{part.data}"
    return {"type": "file", "mime": part.mime_type, "url": url}
