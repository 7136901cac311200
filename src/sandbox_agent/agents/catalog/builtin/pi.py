"""Pi."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

PI: AgentTable = {
    "id": "pi",
    "name": "Pi",
    "skills_directory": ".agents/skills",
    "session_folders": [".pi/agent/sessions"],
    "command": "{node}",
    "args": ["{root}/node_modules/pi-acp/dist/index.js"],
    "default_env": {
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
        "PI_ACP_PI_COMMAND": "{root}/pi/node_modules/.bin/pi",
    },
    "on_path": ["pi-acp"],
    "node": 22,
    "registry": ["pi-acp"],
    "credentials": [
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:GEMINI_API_KEY",
        "env:OPENROUTER_API_KEY",
        "env:MISTRAL_API_KEY",
        "env:GROQ_API_KEY",
        "env:XAI_API_KEY",
        "file:~/.pi/agent/auth.json",
        "file:~/.pi/agent/models.json",
    ],
    "asks": "never",
    "capabilities": [*USUAL_CAPABILITIES, "images", "sessionLifecycle"],
    "size_mb": 170,
    "quirks": [
        "Has no permissions: every tool runs.",
        "Its modes are thinking levels.",
        "Uses the skills of a directory only if its settings trust it (`defaultProjectTrust`).",
    ],
    "install": [
        {"npm": ["pi-acp@0.0.34"]},
        {
            "npm": ["@earendil-works/pi-coding-agent@0.87.1"],
            "into": "pi",
            "native": True,
        },
    ],
}
