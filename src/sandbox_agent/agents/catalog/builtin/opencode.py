"""OpenCode: its own ACP and the adapter of this package; and Kilo, which is built on it."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, USUAL_CAPABILITIES, AgentTable

_DEFAULT_ENV = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
}

_CREDENTIALS = [
    "env:ANTHROPIC_API_KEY",
    "env:OPENAI_API_KEY",
    "env:OPENCODE_API_KEY",
    "env:GEMINI_API_KEY",
    "env:OPENROUTER_API_KEY",
    "file:~/.local/share/opencode/auth.json",
    "file:~/.config/opencode/opencode.json#provider",
    "env:OPENCODE_CONFIG_CONTENT#provider",
]

OPENCODE: AgentTable = {
    "id": "opencode",
    "name": "OpenCode",
    "skills_directory": ".agents/skills",
    "command": "{root}/node_modules/opencode-ai/bin/opencode.exe",
    "args": ["acp"],
    "default_env": _DEFAULT_ENV,
    "on_path": ["opencode", "acp"],
    "native": "opencode",
    "native_file": "node_modules/opencode-ai/bin/opencode.exe",
    "registry": ["opencode"],
    "credentials": _CREDENTIALS,
    "keys": {"openai": ["OPENAI_API_KEY"]},
    "asks": "partly",
    "capabilities": [*USUAL_CAPABILITIES, "images", "fileAttachments", "sessionLifecycle", "mcpTools"],
    "size_mb": 355,
    "quirks": [
        "Allows every tool unless its config sets `permission` to `ask`.",
        "Ignores SIGTERM while a tool runs; the server kills it.",
        "Opens an HTTP server on 127.0.0.1:4096; set OPENCODE_SERVER_PASSWORD to protect it.",
    ],
    "install": [{"npm": ["opencode-ai@1.18.33"], "native": True}],
}

OPENCODE_NATIVE: AgentTable = {
    "id": "opencode-native",
    "name": "OpenCode (native)",
    "skills_directory": ".agents/skills",
    "adapter": "opencode",
    "default_env": _DEFAULT_ENV,
    "native": "opencode",
    "native_file": "node_modules/opencode-ai/bin/opencode.exe",
    "credentials": _CREDENTIALS,
    "keys": {"openai": ["OPENAI_API_KEY"]},
    "asks": "partly",
    "capabilities": [*COMPLETE_CAPABILITIES, "questions", "sharedProcess"],
    "size_mb": 355,
    "quirks": [
        "Allows every tool unless its config sets `permission` to `ask`.",
        "Its server listens on a free port and has a random password.",
    ],
    "install": [{"npm": ["opencode-ai@1.18.33"], "native": True}],
}

KILO: AgentTable = {
    "id": "kilo",
    "name": "Kilo Code",
    "command": "{root}/node_modules/@kilocode/cli/bin/kilo",
    "args": ["acp"],
    "default_env": {"KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_LSP_DOWNLOAD": "1"},
    "on_path": ["kilo", "acp"],
    "registry": ["kilo"],
    "credentials": [
        "env:KILO_API_KEY",
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:GEMINI_API_KEY",
        "env:OPENROUTER_API_KEY",
        "file:~/.local/share/kilo/auth.json",
        "env:KILO_CONFIG_CONTENT#provider",
    ],
    "asks": "partly",
    "capabilities": [*COMPLETE_CAPABILITIES],
    "size_mb": 295,
    "quirks": [
        "Asks as its config sets `permission`.",
    ],
    "install": [
        {
            "npm": ["@kilocode/cli@7.7.7"],
            "check": ["node_modules/@kilocode/cli-{platform}"],
        },
    ],
}
