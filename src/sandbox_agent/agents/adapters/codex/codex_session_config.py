"""The config options of a Codex session, and the parameters of its threads and turns."""

from __future__ import annotations

from typing import Any, NamedTuple

from sandbox_agent.agents.adapters.codex import schema as native
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeSession
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart, PromptText

DEFAULT_MODE = "workspace-write"


class _Mode(NamedTuple):
    name: str
    approval_policy: str
    sandbox: str
    sandbox_policy: str


MODES = {
    "read-only": _Mode("Read only", "on-request", "read-only", "readOnly"),
    "workspace-write": _Mode("Workspace", "on-request", "workspace-write", "workspaceWrite"),
    "full-access": _Mode("Full access", "never", "danger-full-access", "dangerFullAccess"),
}
_COLLABORATION = (ConfigValue("default", "Default"), ConfigValue("plan", "Plan", "Asks before it acts"))


def config_options(models: list[native.Model], mode: str) -> ConfigOptions:
    """The options of a new session; `select_model` sets the model when the thread has started."""
    efforts = {
        effort.reasoning_effort: ConfigValue(effort.reasoning_effort, effort.reasoning_effort.capitalize())
        for model in models
        for effort in model.supported_reasoning_efforts
    }
    modes = [ConfigValue(mode_id, value.name) for mode_id, value in MODES.items()]
    model_values = [ConfigValue(model.model, model.display_name, model.description) for model in models]
    effort_values = [ConfigValue("default", "Default"), *efforts.values()]
    return ConfigOptions(
        [
            ConfigOption("mode", "Mode", mode, modes, "mode"),
            ConfigOption("collaboration_mode", "Collaboration", "default", _COLLABORATION),
            ConfigOption("model", "Model", "", model_values, "model"),
            ConfigOption("thought_level", "Reasoning", "default", effort_values, "thought_level"),
        ]
    )


def select_model(config: ConfigOptions, model: str) -> None:
    """Make the thread's model the current one, also if `model/list` does not contain it."""
    option = config["model"]
    option.current = model
    if model not in option.value_ids():
        option.values = [ConfigValue(model, model), *option.values]


def thread_params(config: ConfigOptions, cwd: str, mcp_servers: list[McpServer]) -> dict[str, Any]:
    mode = MODES[config.current("mode")]
    params: dict[str, Any] = {"cwd": cwd, "approvalPolicy": mode.approval_policy, "sandbox": mode.sandbox}
    if mcp_servers:
        params["config"] = {"mcp_servers": {server.name: _mcp_config(server) for server in mcp_servers}}
    return params


def turn_params(session: NativeSession, parts: list[PromptPart]) -> dict[str, Any]:
    config = session.config
    mode = MODES[config.current("mode")]
    model, level = config.current("model"), config.current("thought_level")
    effort = None if level == "default" else level
    collaboration = {"model": model, "reasoning_effort": effort, "developer_instructions": None}
    params: dict[str, Any] = {
        "threadId": session.id,
        "input": [_input(part) for part in parts],
        "approvalPolicy": mode.approval_policy,
        "sandboxPolicy": {"type": mode.sandbox_policy},
        "model": model,
        "collaborationMode": {"mode": config.current("collaboration_mode"), "settings": collaboration},
    }
    return params | ({"effort": effort} if effort else {})


def _input(part: PromptPart) -> dict[str, Any]:
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    return {"type": "image", "url": f"data:{part.mime_type};base64,{part.data}"}


def _mcp_config(server: McpServer) -> dict[str, Any]:
    if isinstance(server, StdioMcpServer):
        return server.command_config()
    return {"url": server.url, "http_headers": server.headers}
