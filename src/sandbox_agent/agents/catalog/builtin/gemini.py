"""Gemini CLI; and Qwen Code, which is built on it."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

GEMINI: AgentTable = {
    "id": "gemini",
    "name": "Gemini CLI",
    "skills_directory": ".agents/skills",
    "session_folders": [".gemini/tmp", ".gemini/history"],
    "command": "{node}",
    "args": ["{root}/node_modules/@google/gemini-cli/bundle/gemini.js", "--acp"],
    "default_env": {"GEMINI_CLI_NO_RELAUNCH": "true"},
    "on_path": ["gemini", "--acp"],
    "node": 20,
    "registry": ["gemini"],
    "credentials": [
        "env:GEMINI_API_KEY",
        "env:GOOGLE_API_KEY",
        "file:~/.gemini/oauth_creds.json",
    ],
    "asks": "always",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "planMode",
        "permissions",
        "images",
        "fileAttachments",
        "reasoning",
        "commandExecution",
        "fileChanges",
        "mcpTools",
    ],
    "size_mb": 100,
    "quirks": [
        "Waits for the answer of an open permission request even after `session/cancel`.",
        "Keeps running when its stdin closes during a tool; the server kills it.",
        "`session/load` fails with -32603: this version does not find the sessions it has stored.",
        "Uses the skills of a directory only with GEMINI_CLI_TRUST_WORKSPACE=true, or if its user trusts it.",
    ],
    "install": [{"npm": ["@google/gemini-cli@0.61.0"]}],
}

QWEN: AgentTable = {
    "id": "qwen",
    "name": "Qwen Code",
    "skills_directory": ".qwen/skills",
    "command": "{node}",
    "args": ["{root}/node_modules/@qwen-code/qwen-code/cli-entry.js", "--acp"],
    "on_path": ["qwen", "--acp"],
    "node": 22,
    "registry": ["qwen-code"],
    "credentials": ["env:OPENAI_API_KEY", "env:DASHSCOPE_API_KEY", "file:~/.qwen/oauth_creds.json"],
    "asks": "partly",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "planMode",
        "permissions",
        "questions",
        "images",
        "fileAttachments",
        "reasoning",
        "commandExecution",
        "fileChanges",
        "mcpTools",
    ],
    "size_mb": 155,
    "quirks": [
        "Writes a line of about 560 KB after `session/new`.",
        "Offers two options of kind `allow_once`; "
        "questions are permission requests with an additional field.",
    ],
    "install": [{"npm": ["@qwen-code/qwen-code@0.24.4"]}],
}
