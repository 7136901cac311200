"""Nanocoder."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

NANOCODER: AgentTable = {
    "id": "nanocoder",
    "name": "Nanocoder",
    "command": "{node}",
    "args": ["{root}/node_modules/@nanocollective/nanocoder/dist/cli.js", "--acp"],
    "on_path": ["nanocoder", "--acp"],
    "node": 22,
    "credentials": [
        "env:NANOCODER_PROVIDERS",
        "env:NANOCODER_PROVIDERS_FILE",
        "file:~/.config/nanocoder/agents.config.json",
    ],
    "verify_env": {
        "NANOCODER_PROVIDERS": '[{"name": "none", "models": ["none"], "baseUrl": "http://127.0.0.1:9/v1"}]',
    },
    "asks": "partly",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "permissions",
        "sessionLifecycle",
        "reasoning",
        "commandExecution",
        "fileChanges",
    ],
    "size_mb": 305,
    "quirks": [
        "Its default mode `auto-accept` writes files without asking; commands are asked for. "
        "`normal` asks for both.",
        "Does not start without a provider: NANOCODER_PROVIDERS, or "
        "`agents.config.json` in `~/.config/nanocoder` or its directory.",
    ],
    "install": [{"npm": ["@nanocollective/nanocoder@1.30.0"]}],
}
