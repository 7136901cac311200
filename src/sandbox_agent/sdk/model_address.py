"""One way to hand a model's address and key to every agent: the variables that each of them reads.

For proxies that count or record the model calls of evaluations. Time limits that would end a slow call behind
such a proxy are switched off, and model calls for titles, which are in no usage of the agent. Agents that
read the address from a file only are not covered.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk import json_codec

COVERED = ("claude", "codex", "copilot", "gemini", "goose", "kimi-code", "opencode", "qwen")
"""Agents that use the address."""
NEED_MODEL = ("copilot", "goose", "kimi-code", "opencode", "qwen")
"""Those of them that do not without the name of a model; OpenCode would use one of its own hosted models."""
# Of Claude Code, which ends a call that streams nothing for a while; found in the settings of others.
_PATIENCE = {"API_TIMEOUT_MS": "100000000", "API_FORCE_IDLE_TIMEOUT": "0", "MCP_CONNECTION_NONBLOCKING": "0"}


def model_environment(base_url: str, key: str, model: str | None = None) -> dict[str, str]:
    """Variables for agents that use the models at `base_url`.

    `base_url` is the part before `/v1`: the proxy answers `/v1/messages`, `/v1/responses`,
    `/v1/chat/completions` or `/v1beta/models/...`, depending on the agent.
    """
    base = base_url.rstrip("/").removesuffix("/v1")
    openai = f"{base}/v1"
    variables = {
        **_PATIENCE,
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": key,
        "OPENAI_BASE_URL": openai,
        "OPENAI_HOST": base,
        "OPENAI_API_KEY": key,
        "GOOGLE_GEMINI_BASE_URL": base,
        "GEMINI_API_KEY": key,
        "COPILOT_PROVIDER_BASE_URL": openai,
        "COPILOT_PROVIDER_API_KEY": key,
        "KIMI_MODEL_BASE_URL": openai,
        "KIMI_MODEL_API_KEY": key,
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "GOOSE_PROVIDER": "openai",
        "GOOSE_DISABLE_SESSION_NAMING": "true",
        "SANDBOX_AGENT_MODEL_KEY": key,
        "CODEX_CONFIG": json_codec.encode_text(_codex(openai, model)),
        "OPENCODE_CONFIG_CONTENT": json_codec.encode_text(_opencode(openai, key, model)),
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    }
    if model is not None:
        names = (
            "ANTHROPIC_MODEL",
            "OPENAI_MODEL",
            "GEMINI_MODEL",
            "COPILOT_MODEL",
            "KIMI_MODEL_NAME",
            "GOOSE_MODEL",
        )
        variables |= dict.fromkeys(names, model)
    return variables


def _codex(openai: str, model: str | None) -> dict[str, Any]:
    provider = {
        "name": "proxy",
        "base_url": openai,
        "wire_api": "responses",
        "env_key": "SANDBOX_AGENT_MODEL_KEY",
        "requires_openai_auth": False,
        "supports_websockets": False,
    }
    config: dict[str, Any] = {
        "model_provider": "proxy",
        "model_providers": {"proxy": provider},
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
    }
    return config | ({"model": model} if model else {})


def _opencode(openai: str, key: str, model: str | None) -> dict[str, Any]:
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": openai, "apiKey": key},
        "models": {model: {}} if model else {},
    }
    config: dict[str, Any] = {
        "provider": {"proxy": provider},
        "agent": {"title": {"disable": True}},
        "autoupdate": False,
        "share": "disabled",
    }
    return config | ({"model": f"proxy/{model}", "small_model": f"proxy/{model}"} if model else {})
