"""Amp: through an ACP adapter, and through the adapter of this package."""

from sandbox_agent.agents.catalog.agent_table import AgentTable

AMP: AgentTable = {
    "id": "amp",
    "name": "Amp",
    "skills_directory": ".agents/skills",
    "command": "{root}/venv/bin/acp-amp",
    "args": ["run"],
    "default_env": {
        "AMP_SKIP_UPDATE_CHECK": "1",
        "AMP_CLI_PATH": "{root}/node_modules/@sourcegraph/amp/dist/main.js",
    },
    "on_path": ["amp-acp"],
    "node": 20,
    "registry": ["amp-acp"],
    "credentials": [
        "env:AMP_API_KEY",
        "file:~/.local/share/amp/secrets.json",
        "file:~/.amp/config.json",
    ],
    "keys": {"anthropic": ["ANTHROPIC_API_KEY"]},
    "asks": "never",
    "capabilities": ["toolCalls", "toolResults", "textMessages", "errorEvents", "mcpTools"],
    "size_mb": 40,
    "quirks": [
        "Never asks for permission; tools need the mode `bypass`.",
        "Ignores `cwd` of `session/new`: give the instance its directory with `?cwd=`.",
        "Its adapter does nothing on `session/cancel` (`cancel` of its Python driver is empty): "
        "the turn ends, as `cancelled`, when the model's stream has ended. `amp-native` cancels at once.",
        "Cannot load sessions.",
    ],
    "install": [
        {"pypi": ["acp-amp==0.1.3", "amp-sdk==0.1.6"], "python": "3.10"},
        {
            "npm": ["@sourcegraph/amp@0.0.1777897475-g2324e1"],
            "native": True,
        },
    ],
}

AMP_NATIVE: AgentTable = {
    "id": "amp-native",
    "name": "Amp (native)",
    "skills_directory": ".agents/skills",
    "adapter": "amp",
    "default_env": {"AMP_SKIP_UPDATE_CHECK": "1"},
    "native": "amp",
    "native_file": "node_modules/@sourcegraph/amp/dist/main.js",
    "node": 20,
    "credentials": [
        "env:AMP_API_KEY",
        "file:~/.local/share/amp/secrets.json",
        "file:~/.amp/config.json",
    ],
    "keys": {"anthropic": ["ANTHROPIC_API_KEY"]},
    "asks": "never",
    "capabilities": [
        "toolCalls",
        "toolResults",
        "textMessages",
        "sessionLifecycle",
        "errorEvents",
        "reasoning",
        "commandExecution",
        "mcpTools",
    ],
    "size_mb": 15,
    "quirks": [
        "Never asks for permission; tools that need it run in the mode `bypass` only.",
        "Sends complete messages, no chunks.",
    ],
    "install": [{"npm": ["@sourcegraph/amp@0.0.1777897475-g2324e1"], "native": True}],
}
