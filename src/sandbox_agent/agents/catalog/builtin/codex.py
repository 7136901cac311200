"""Codex: through its ACP adapter, and through the adapter of this package."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

_CREDENTIALS = [
    "env:OPENAI_API_KEY",
    "env:CODEX_API_KEY",
    "file:~/.codex/auth.json#OPENAI_API_KEY",
    "file:~/.codex/auth.json#tokens.access_token",
    "file:~/.codex/config.toml#model_provider",
    "env:CODEX_CONFIG#model_provider",
]

CODEX: AgentTable = {
    "id": "codex",
    "name": "Codex",
    "skills_directory": ".agents/skills",
    "command": "{node}",
    "args": ["{root}/node_modules/@agentclientprotocol/codex-acp/dist/index.js"],
    "default_env": {"NO_BROWSER": "1"},
    "on_path": ["codex-acp"],
    "native": "codex",
    "native_file": "node_modules/.bin/codex",
    "node": 20,
    "registry": ["codex-acp"],
    "credentials": _CREDENTIALS,
    "keys": {"openai": ["OPENAI_API_KEY", "CODEX_API_KEY"]},
    "asks": "partly",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode", "status"],
    "size_mb": 460,
    "stop_signal": "SIGTERM",
    "quirks": [
        "In its default mode `agent` a model decides approvals; "
        "INITIAL_AGENT_MODE=read-only makes it ask the user.",
        "A rejected permission ends the turn with `cancelled`.",
        "Asks questions only with `collaboration_mode` set to `plan`.",
    ],
    "install": [
        {
            "npm": ["@agentclientprotocol/codex-acp@2.6.0"],
            "check": ["node_modules/@openai/codex-{platform}"],
        },
        {
            "npm": ["@openai/codex"],
            "into": "vendor",
            "native": True,
            "on_request": True,
            "program": "vendor/node_modules/.bin/codex",
            "env": {"CODEX_PATH": "{root}/vendor/node_modules/.bin/codex"},
        },
    ],
}

CODEX_NATIVE: AgentTable = {
    "id": "codex-native",
    "name": "Codex (native)",
    "skills_directory": ".agents/skills",
    "adapter": "codex",
    "native": "codex",
    "native_file": "node_modules/.bin/codex",
    "node": 20,
    "credentials": _CREDENTIALS,
    "keys": {"openai": ["OPENAI_API_KEY", "CODEX_API_KEY"]},
    "asks": "partly",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode", "questions", "sharedProcess"],
    "size_mb": 430,
    "quirks": [
        "A rejected command does not end the turn.",
        "Asks questions only with `collaboration_mode` set to `plan`.",
    ],
    "install": [
        {
            "npm": ["@openai/codex@0.166.0"],
            "check": ["node_modules/@openai/codex-{platform}"],
            "native": True,
        },
    ],
}
