"""Cursor."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

CURSOR: AgentTable = {
    "id": "cursor",
    "name": "Cursor",
    "skills_directory": ".agents/skills",
    "on_path": ["cursor-agent-acp"],
    "registry": ["cursor", "cursor-agent-acp"],
    "credentials": [
        "env:CURSOR_API_KEY",
        "env:CURSOR_AUTH_TOKEN",
        "file:~/.config/cursor/auth.json",
    ],
    "capabilities": [*USUAL_CAPABILITIES, "planMode", "permissions", "images", "sessionLifecycle"],
    "quirks": [
        "On neither npm nor PyPI: installed from the ACP registry, or used from PATH.",
    ],
}
