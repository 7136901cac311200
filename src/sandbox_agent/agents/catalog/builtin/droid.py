"""Droid, the agent of Factory."""

from sandbox_agent.agents.catalog.agent_table import AgentTable

DROID: AgentTable = {
    "id": "droid",
    "name": "Factory Droid",
    "skills_directory": ".agents/skills",
    "session_folders": [".factory/sessions"],
    "command": "{root}/node_modules/.bin/droid",
    "args": ["exec", "--output-format", "acp"],
    "default_env": {"FACTORY_DROID_AUTO_UPDATE_ENABLED": "false"},
    "on_path": ["droid", "exec", "--output-format", "acp"],
    "registry": ["factory-droid"],
    "node": 20,
    "credentials": ["env:FACTORY_API_KEY", "file:~/.factory/auth.json"],
    "asks": "partly",
    # Its messages are complete: no streamingDeltas.
    "capabilities": [
        "permissions",
        "toolCalls",
        "toolResults",
        "textMessages",
        "images",
        "sessionLifecycle",
        "errorEvents",
        "reasoning",
        "commandExecution",
        "fileChanges",
        "itemStarted",
    ],
    "size_mb": 300,
    "quirks": [
        "Sends complete messages, no chunks, and no output of its commands.",
        "Needs a key of Factory (FACTORY_API_KEY), also for models of your own "
        "(`customModels` in ~/.factory/settings.json).",
    ],
    "install": [{"npm": ["droid@0.215.0"], "check": ["node_modules/@factory/cli-{platform}"]}],
}
