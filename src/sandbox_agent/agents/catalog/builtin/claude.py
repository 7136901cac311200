"""Claude Code: through its ACP adapter, and through the adapter of this package."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

_CREDENTIALS = [
    "env:ANTHROPIC_API_KEY",
    "env:ANTHROPIC_AUTH_TOKEN",
    "env:CLAUDE_CODE_OAUTH_TOKEN",
    "file:~/.claude/.credentials.json#claudeAiOauth.accessToken",
    "file:~/.claude.json#primaryApiKey",
]

CLAUDE: AgentTable = {
    "id": "claude",
    "name": "Claude Code",
    "skills_directory": ".claude/skills",
    "session_folders": [".claude/projects"],
    "allowed_tools": "_meta.claudeCode.options.tools",
    "command": "{node}",
    "args": [
        "{root}/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
    ],
    "default_env": {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        # A model call after each turn, for a prompt that no client here shows.
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
        "DISABLE_AUTOUPDATER": "1",
    },
    "on_path": ["claude-agent-acp"],
    "native": "claude",
    "native_file": "node_modules/@anthropic-ai/claude-agent-sdk-{platform}/claude",
    "node": 22,
    "registry": ["claude-acp", "claude-agent-acp"],
    "credentials": _CREDENTIALS,
    "keys": {"anthropic": ["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"]},
    "asks": "always",
    "capabilities": [
        "permissions",
        "questions",
        "toolCalls",
        "toolResults",
        "textMessages",
        "mcpTools",
        "streamingDeltas",
    ],
    "size_mb": 360,
    "quirks": [
        "Asks questions only if the client declares `elicitation.form`.",
        "Each further session costs about 200 MB.",
        "Refuses `bypassPermissions` as root unless IS_SANDBOX=1; "
        "as root it does not start with any other IS_SANDBOX.",
    ],
    "install": [
        {
            "npm": ["@agentclientprotocol/claude-agent-acp@0.99.1"],
            "check": [
                "node_modules/@anthropic-ai/claude-agent-sdk-{platform}/claude",
            ],
        },
        {
            "npm": ["@anthropic-ai/claude-code"],
            "into": "vendor",
            "native": True,
            "on_request": True,
            "program": "vendor/node_modules/.bin/claude",
            "env": {
                "CLAUDE_CODE_EXECUTABLE": "{root}/vendor/node_modules/.bin/claude",
            },
        },
    ],
}

CLAUDE_NATIVE: AgentTable = {
    "id": "claude-native",
    "name": "Claude Code (native)",
    "skills_directory": ".claude/skills",
    "adapter": "claude",
    "default_env": {
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    "native": "claude",
    "native_file": "node_modules/@anthropic-ai/claude-agent-sdk-{platform}/claude",
    "credentials": _CREDENTIALS,
    "keys": {"anthropic": ["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"]},
    "asks": "always",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode", "questions"],
    "size_mb": 250,
    "quirks": [
        "One process per turn: no process of Claude runs between turns.",
        "Offers `bypassPermissions` as root only with IS_SANDBOX=1.",
    ],
    "install": [
        {
            "npm": ["@anthropic-ai/claude-agent-sdk-{platform}@0.3.312"],
            "check": [
                "node_modules/@anthropic-ai/claude-agent-sdk-{platform}/claude",
            ],
            "native": True,
        },
    ],
}
