"""Grok."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

GROK: AgentTable = {
    "id": "grok",
    "name": "Grok",
    "skills_directory": ".grok/skills",
    "session_folders": [".grok/sessions"],
    "command": "{root}/node_modules/.bin/grok",
    "args": ["agent", "stdio"],
    "on_path": ["grok", "agent", "stdio"],
    "registry": ["grok-build"],
    "credentials": ["env:XAI_API_KEY", "file:~/.grok/auth.json"],
    "asks": "partly",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "permissions",
        "questions",
        "fileAttachments",
        "sessionLifecycle",
        "reasoning",
        "commandExecution",
        "fileChanges",
        "mcpTools",
    ],
    "size_mb": 210,
    "stop_signal": "SIGTERM",
    "quirks": [
        "Needs `authenticate` before the first session.",
        "Asks for writes and for commands it considers dangerous, not for `touch` or `echo`.",
        "A rejected permission ends the turn with `cancelled`.",
        "Asks questions with its own method, `_x.ai/ask_user_question`.",
        "Uses the skills of a directory only if its user trusts it (`grok --trust`).",
    ],
    "install": [{"npm": ["@xai-official/grok@1.0.41"]}],
}
