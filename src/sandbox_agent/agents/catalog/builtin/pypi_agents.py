"""Agents that are installed from the Python package index."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

MISTRAL_VIBE: AgentTable = {
    "id": "mistral-vibe",
    "name": "Mistral Vibe",
    "skills_directory": ".agents/skills",
    "command": "{root}/venv/bin/vibe-acp",
    "on_path": ["vibe-acp"],
    "registry": ["mistral-vibe"],
    "credentials": ["env:MISTRAL_API_KEY", "file:~/.vibe/.env", "file:~/.vibe/config.toml#providers"],
    "asks": "partly",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "permissions",
        "questions",
        "images",
        "fileAttachments",
        "sessionLifecycle",
        "reasoning",
        "commandExecution",
        "fileChanges",
    ],
    "size_mb": 400,
    "quirks": [
        "Waits for the answer of an open permission request even after `session/cancel`.",
        "Uses the skills of a directory only if ~/.vibe/trusted_folders.toml lists it.",
    ],
    "install": [{"pypi": ["mistral-vibe==3.0.2"], "python": "3.12"}],
}

HERMES: AgentTable = {
    "id": "hermes",
    "name": "Hermes Agent",
    "skills_directory": ".agents/skills",
    "command": "{root}/venv/bin/hermes-acp",
    "on_path": ["hermes-acp"],
    "registry": ["hermes"],
    "credentials": [
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:OPENROUTER_API_KEY",
        "file:~/.hermes/.env",
        "file:~/.hermes/config.yaml",
    ],
    "asks": "partly",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "permissions",
        "images",
        "reasoning",
        "commandExecution",
        "fileChanges",
    ],
    "size_mb": 215,
    "stop_signal": "SIGTERM",
    "quirks": [
        "Asks only for dangerous commands and for edits.",
        "Waits for the answer of an open permission request even after `session/cancel`.",
        "Uses the skills of a directory only if `skills.external_dirs` in ~/.hermes/config.yaml lists its "
        "`.agents/skills`.",
    ],
    "install": [{"pypi": ["hermes-agent[acp]==0.19.0"], "python": "3.11"}],
}

FAST_AGENT: AgentTable = {
    "id": "fast-agent",
    "name": "fast-agent",
    "skills_directory": ".agents/skills",
    "command": "{root}/venv/bin/fast-agent",
    "args": ["--no-update-check", "serve", "--transport", "acp", "--shell"],
    "on_path": [
        "fast-agent",
        "--no-update-check",
        "serve",
        "--transport",
        "acp",
        "--shell",
    ],
    "registry": ["fast-agent"],
    "credentials": [
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:GENERIC_API_KEY",
        "env:GOOGLE_API_KEY",
        "env:OPENROUTER_API_KEY",
        "file:~/.fast-agent/fastagent.secrets.yaml",
    ],
    "verify_env": {"FAST_AGENT_MODEL": "passthrough"},
    "asks": "terminal",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "permissions",
        "images",
        "fileAttachments",
        "commandExecution",
        "fileChanges",
        "mcpTools",
    ],
    "size_mb": 305,
    "stop_signal": "SIGTERM",
    "quirks": [
        "Does not start without a model: set FAST_AGENT_MODEL.",
        "Takes 5 to 10 s to start.",
        "Asks for permission only if the client declares `terminal` and `fs`; otherwise every tool runs.",
        "Sends relative paths in `fs/write_text_file`: give the instance its directory with `?cwd=`.",
    ],
    "install": [{"pypi": ["fast-agent-mcp==0.10.1"], "python": "3.12"}],
}

GPTME: AgentTable = {
    "id": "gptme",
    "name": "gptme",
    "command": "{root}/venv/bin/gptme-acp",
    "on_path": ["gptme-acp"],
    "credentials": [
        "env:ANTHROPIC_API_KEY",
        "env:OPENAI_API_KEY",
        "env:OPENROUTER_API_KEY",
        "env:GEMINI_API_KEY",
        "file:~/.config/gptme/config.toml",
    ],
    "asks": "never",
    "capabilities": [*USUAL_CAPABILITIES, "commandExecution", "fileChanges"],
    "size_mb": 300,
    "quirks": [
        "Never asks for permission, although it describes its mode `default` as one that does.",
        "Its model writes tool calls as text, and so do its messages: there are no tool calls in its events.",
        "Begins its first answer with lines about model and workspace.",
    ],
    "install": [{"pypi": ["gptme[acp]==0.35.1"], "python": "3.10"}],
}

CROW_CLI: AgentTable = {
    "id": "crow-cli",
    "name": "Crow",
    "command": "{root}/venv/bin/crow-cli",
    "args": ["acp"],
    "on_path": ["crow-cli", "acp"],
    "registry": ["crow-cli"],
    "credentials": ["file:~/.agents/crow/config.yaml"],
    "asks": "never",
    "capabilities": [*USUAL_CAPABILITIES, "images", "fileAttachments", "sessionLifecycle", "mcpTools"],
    "size_mb": 1030,
    "quirks": [
        "Has the tools of the session's MCP servers only; its own are the server `crow-cli mcp`.",
        "Needs Python 3.13 and a provider in ~/.agents/crow/config.yaml.",
    ],
    "install": [{"pypi": ["crow-cli==0.1.48"], "python": "3.13"}],
}
