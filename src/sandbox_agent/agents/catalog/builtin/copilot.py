"""GitHub Copilot CLI."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

COPILOT: AgentTable = {
    "id": "copilot",
    "name": "GitHub Copilot CLI",
    "skills_directory": ".agents/skills",
    "command": "{root}/node_modules/@github/copilot-{platform}/copilot",
    "args": ["--acp"],
    "default_env": {"COPILOT_AUTO_UPDATE": "false"},
    "on_path": ["copilot", "--acp"],
    "registry": ["github-copilot-cli"],
    "credentials": [
        "env:COPILOT_GITHUB_TOKEN",
        "env:GH_TOKEN",
        "env:GITHUB_TOKEN",
        "env:COPILOT_PROVIDER_API_KEY",
        "file:~/.copilot/config.json",
    ],
    "asks": "always",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode"],
    "size_mb": 190,
    "quirks": ["The ids of its modes are URLs."],
    "install": [
        {
            "npm": ["@github/copilot@1.0.102"],
            "check": ["node_modules/@github/copilot-{platform}/copilot"],
        },
    ],
}
