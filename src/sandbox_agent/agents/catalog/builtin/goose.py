"""Goose."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

GOOSE: AgentTable = {
    "id": "goose",
    "name": "goose",
    "skills_directory": ".agents/skills",
    "command": "{root}/node_modules/@aaif/goose-binary-{platform}/bin/goose",
    "args": ["acp"],
    "default_env": {"GOOSE_TELEMETRY_ENABLED": "false"},
    "on_path": ["goose", "acp"],
    "registry": ["goose"],
    "credentials": [
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:GOOSE_PROVIDER",
        "env:GOOGLE_API_KEY",
        "env:OPENROUTER_API_KEY",
        "file:~/.config/goose/config.yaml",
    ],
    "asks": "partly",
    "capabilities": [*COMPLETE_CAPABILITIES],
    "size_mb": 290,
    "quirks": [
        "Waits for the answer of an open permission request even after `session/cancel`.",
        "Leaves its tool running when it ends; the server kills the process tree.",
    ],
    "install": [
        {
            "npm": ["@aaif/goose-binary-{platform}@1.52.0"],
            "check": ["node_modules/@aaif/goose-binary-{platform}/bin/goose"],
        },
    ],
}
