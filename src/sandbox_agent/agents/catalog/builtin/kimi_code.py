"""Kimi Code."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

KIMI_CODE: AgentTable = {
    "id": "kimi-code",
    "name": "Kimi Code",
    "skills_directory": ".agents/skills",
    "session_folders": [".kimi-code/sessions"],
    "command": "{node}",
    "args": ["{root}/node_modules/@moonshot-ai/kimi-code/dist/main.mjs", "acp"],
    "default_env": {"KIMI_CODE_NO_AUTO_UPDATE": "1"},
    "on_path": ["kimi", "acp"],
    "node": 22,
    "registry": ["kimi"],
    "credentials": ["env:KIMI_MODEL_API_KEY", "env:KIMI_API_KEY", "env:MOONSHOT_API_KEY"],
    "asks": "always",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode", "questions"],
    "size_mb": 60,
    "install": [{"npm": ["@moonshot-ai/kimi-code@2.1.0"]}],
}
