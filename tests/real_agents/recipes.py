"""How each real agent is configured for the fake model, and which features it has.

`{base}` is the address of the fake model, `{home}` the agent's empty home. All keys are dummies.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Recipe:
    agent: str
    env: dict[str, str]
    files: dict[str, str] = field(default_factory=dict)
    authenticate: str | None = None
    mode_for_tools: str | None = None
    asks_permission: bool = True
    """Before a shell command."""
    asks_only_if_served: bool = False
    """It asks only clients that run its commands and write its files."""
    command: str = "touch {home}/touched"
    """A harmless command that the agent asks permission for."""
    after_reject: tuple[str, ...] = ("end_turn",)
    question: str | None = None
    """The method of a question to the user; None if the agent asks none over ACP."""
    option_for_questions: tuple[str, str] | None = None
    """A config option that must be set before the agent asks questions."""
    loads_sessions: bool = True
    slow_pieces: int = 60
    """The number of chunks, 0.2 s apart, that the model streams until the turn is cancelled."""
    streams: bool = True
    """Sends the model's text in pieces; other agents are cancelled while a tool runs."""
    thoughts: bool = True
    """Sends the model's reasoning."""

    def has(self, check: str) -> bool:
        """Whether the agent has the feature of a check."""
        return {
            "thought": self.thoughts,
            "tool rejected": self.asks_permission,
            "question": self.question is not None,
            "load after restart": self.loads_sessions,
        }.get(check, True)


_CODEX = {
    "model": "fake-model",
    "model_provider": "fake",
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "model_providers": {
        "fake": {
            "name": "fake",
            "base_url": "{base}/v1",
            "wire_api": "responses",
            "env_key": "FAKE_KEY",
            "requires_openai_auth": False,
            "supports_websockets": False,
        }
    },
}
_OPENCODE = {
    "model": "fake/fake-model",
    "small_model": "fake/fake-model",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"bash": "ask", "edit": "ask"},
    "enabled_providers": ["fake"],
    "provider": {
        "fake": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Fake",
            "options": {"baseURL": "{base}/v1", "apiKey": "dummy"},
            "models": {
                "fake-model": {
                    "name": "Fake",
                    "tool_call": True,
                    "reasoning": True,
                    "limit": {"context": 100000, "output": 4096},
                }
            },
        }
    },
}
_PI_MODELS = {
    "providers": {
        "fake": {
            "baseUrl": "{base}/v1",
            "api": "openai-completions",
            "apiKey": "dummy",
            "models": [{"id": "fake-model", "reasoning": True}],
        }
    }
}
_PI_SETTINGS = {"defaultProvider": "fake", "defaultModel": "fake-model", "quietStartup": True}
_QUIET_SETTINGS = json.dumps(
    {
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
)
_VIBE = """\
active_model = "fake"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
[[providers]]
name = "fake"
api_base = "{base}/v1"
api_key_env_var = "FAKE_KEY"
api_style = "openai"
backend = "generic"
[[models]]
name = "fake-model"
provider = "fake"
alias = "fake"
"""
_GROK = """\
[cli]
auto_update = false
[models]
default = "fake"
[model.fake]
model = "fake-model"
name = "Fake"
base_url = "{base}/v1"
api_key = "dummy"
context_window = 100000
"""
_HERMES = """\
model:
  default: fake-model
  provider: custom
  base_url: {base}/v1
  api_key: dummy
"""

_NANOCODER = [
    {"name": "fake", "models": ["fake-model"], "baseUrl": "{base}/v1", "apiKey": "dummy"},
]

_DROID_MODEL = {
    "model": "fake-model",
    "id": "custom:Fake-0",
    "index": 0,
    "displayName": "Fake",
    "baseUrl": "{base}/v1",
    "apiKey": "dummy",
    "provider": "generic-chat-completion-api",
    "maxOutputTokens": 4096,
}
_DROID = {"customModels": [_DROID_MODEL], "sessionDefaultSettings": {"model": "custom:Fake-0"}}
_CROW = """\
db_uri: sqlite:///{home}/crow.db
providers:
  fake:
    api_key: dummy
    base_url: {base}/v1
models:
  fake-model:
    provider: fake
    model: fake-model
"""

RECIPES = {
    recipe.agent: recipe
    for recipe in (
        Recipe(
            "claude",
            # If IS_SANDBOX is set to any text, claude offers a mode in which it refuses to start as root.
            {"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_API_KEY": "dummy-key", "IS_SANDBOX": ""},
            question="elicitation/create",
        ),
        Recipe(
            "codex",
            {"CODEX_CONFIG": json.dumps(_CODEX), "FAKE_KEY": "dummy", "INITIAL_AGENT_MODE": "read-only"},
            after_reject=("cancelled",),
            question="elicitation/create",
            option_for_questions=("collaboration_mode", "plan"),
        ),
        Recipe(
            "opencode",
            {
                "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE),
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            },
        ),
        Recipe(
            "amp",
            {"AMP_URL": "{base}", "AMP_API_KEY": "sgamp_user_dummy"},
            mode_for_tools="bypass",
            asks_permission=False,
            loads_sessions=False,
            # It ends a cancelled turn only after the model has ended its stream.
            slow_pieces=15,
            thoughts=False,
        ),
        Recipe(
            "pi",
            {"PI_OFFLINE": "1"},
            {
                ".pi/agent/models.json": json.dumps(_PI_MODELS),
                ".pi/agent/settings.json": json.dumps(_PI_SETTINGS),
            },
            asks_permission=False,
        ),
        Recipe(
            "goose",
            {
                "GOOSE_DISABLE_KEYRING": "1",
                "GOOSE_PROVIDER": "openai",
                "GOOSE_MODEL": "fake-model",
                "OPENAI_API_KEY": "dummy",
                "OPENAI_HOST": "{base}",
                "GOOSE_MODE": "approve",
            },
        ),
        Recipe(
            "gemini",
            {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": "{base}"},
            {".gemini/settings.json": _QUIET_SETTINGS},
            loads_sessions=False,
        ),
        Recipe(
            "qwen",
            {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": "{base}/v1", "OPENAI_MODEL": "fake-model"},
            {".qwen/settings.json": _QUIET_SETTINGS},
            question="session/request_permission",
        ),
        Recipe(
            "copilot",
            {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_BASE_URL": "{base}/v1",
                "COPILOT_PROVIDER_API_KEY": "dummy",
                "COPILOT_MODEL": "fake-model",
            },
        ),
        Recipe(
            "kimi-code",
            {
                "KIMI_MODEL_NAME": "fake-model",
                "KIMI_MODEL_API_KEY": "dummy",
                "KIMI_MODEL_PROVIDER_TYPE": "openai",
                "KIMI_MODEL_BASE_URL": "{base}/v1",
            },
            question="elicitation/create",
        ),
        Recipe(
            "mistral-vibe",
            {"FAKE_KEY": "dummy"},
            {".vibe/config.toml": _VIBE},
            question="elicitation/create",
        ),
        Recipe(
            "grok",
            {"XAI_API_KEY": "dummy"},
            {".grok/config.toml": _GROK},
            authenticate="xai.api_key",
            command="rm -rf {home}/nothing-there",
            after_reject=("cancelled",),
            question="_x.ai/ask_user_question",
        ),
        Recipe(
            "hermes",
            {"OPENAI_API_KEY": "dummy"},
            {".hermes/config.yaml": _HERMES},
            command="rm -rf {home}/nothing-there",
        ),
        Recipe(
            "fast-agent",
            {
                "GENERIC_API_KEY": "dummy",
                "GENERIC_BASE_URL": "{base}/v1",
                "FAST_AGENT_MODEL": "generic.fake-model",
            },
            asks_only_if_served=True,
            thoughts=False,
        ),
        Recipe(
            "kilo",
            {
                "KILO_CONFIG_CONTENT": json.dumps(_OPENCODE),
                "KILO_DISABLE_MODELS_FETCH": "1",
                "KILO_DISABLE_DEFAULT_PLUGINS": "1",
                "KILO_DISABLE_SESSION_INGEST": "1",
            },
        ),
        Recipe(
            "nanocoder",
            {"NANOCODER_PROVIDERS": json.dumps(_NANOCODER), "NANOCODER_TRUST_DIRECTORY": "1"},
        ),
        Recipe(
            "droid",
            {"FACTORY_API_KEY": "fk-dummy"},
            {".factory/settings.json": json.dumps(_DROID)},
            streams=False,
        ),
    )
}

TEXT_AGENTS = {
    "gptme": Recipe(
        "gptme",
        {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": "{base}/v1", "MODEL": "local/fake-model"},
    ),
    "crow-cli": Recipe("crow-cli", {}, {".agents/crow/config.yaml": _CROW}),
}
"""Agents that write tool calls as text, which the fake model does not, or have no tools of their own: only
their turns are tested.
"""

CI_AGENTS = ("claude", "codex", "opencode", "amp", "pi", "goose")
