"""The built-in agents, one module per agent or family of agents."""

from collections.abc import Mapping

from sandbox_agent.agents.catalog.agent_table import AgentTable
from sandbox_agent.agents.catalog.builtin.amp import AMP, AMP_NATIVE
from sandbox_agent.agents.catalog.builtin.claude import CLAUDE, CLAUDE_NATIVE
from sandbox_agent.agents.catalog.builtin.codex import CODEX, CODEX_NATIVE
from sandbox_agent.agents.catalog.builtin.copilot import COPILOT
from sandbox_agent.agents.catalog.builtin.cursor import CURSOR
from sandbox_agent.agents.catalog.builtin.droid import DROID
from sandbox_agent.agents.catalog.builtin.gemini import GEMINI, QWEN
from sandbox_agent.agents.catalog.builtin.goose import GOOSE
from sandbox_agent.agents.catalog.builtin.grok import GROK
from sandbox_agent.agents.catalog.builtin.kimi_code import KIMI_CODE
from sandbox_agent.agents.catalog.builtin.mock import MOCK
from sandbox_agent.agents.catalog.builtin.nanocoder import NANOCODER
from sandbox_agent.agents.catalog.builtin.opencode import KILO, OPENCODE, OPENCODE_NATIVE
from sandbox_agent.agents.catalog.builtin.pi import PI
from sandbox_agent.agents.catalog.builtin.pypi_agents import (
    CROW_CLI,
    FAST_AGENT,
    GPTME,
    HERMES,
    MISTRAL_VIBE,
)

BUILTIN_AGENTS: Mapping[str, AgentTable] = {
    table["id"]: table
    for table in (
        CLAUDE,
        CODEX,
        OPENCODE,
        AMP,
        PI,
        CURSOR,
        MOCK,
        GEMINI,
        QWEN,
        COPILOT,
        GOOSE,
        KIMI_CODE,
        MISTRAL_VIBE,
        GROK,
        HERMES,
        FAST_AGENT,
        KILO,
        NANOCODER,
        GPTME,
        DROID,
        CROW_CLI,
        CLAUDE_NATIVE,
        CODEX_NATIVE,
        OPENCODE_NATIVE,
        AMP_NATIVE,
    )
}
"""By id, in the order of `GET /v1/agents`."""
