"""The built-in agents, one module per agent or family of agents.

A module is loaded when one of its agents is first asked for: all of them would add 1 ms to the first start of
an agent.
"""

from importlib import import_module

from sandbox_agent.agents.catalog.agent_table import AgentTable

BUILTIN_AGENTS = {
    "claude": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "amp": "amp",
    "pi": "pi",
    "cursor": "cursor",
    "mock": "mock",
    "gemini": "gemini",
    "qwen": "gemini",
    "copilot": "copilot",
    "goose": "goose",
    "kimi-code": "kimi_code",
    "mistral-vibe": "pypi_agents",
    "grok": "grok",
    "hermes": "pypi_agents",
    "fast-agent": "pypi_agents",
    "kilo": "opencode",
    "nanocoder": "nanocoder",
    "gptme": "pypi_agents",
    "droid": "droid",
    "crow-cli": "pypi_agents",
    "claude-native": "claude",
    "codex-native": "codex",
    "opencode-native": "opencode",
    "amp-native": "amp",
}
"""The module of each agent, in the order of `GET /v1/agents`."""


def builtin_agent(agent_id: str) -> AgentTable:
    """The table of a built-in agent: the constant with its id in capitals, such as `CLAUDE_NATIVE`."""
    module = import_module(f"{__name__}.{BUILTIN_AGENTS[agent_id]}")
    table: AgentTable = getattr(module, agent_id.upper().replace("-", "_"))
    return table
