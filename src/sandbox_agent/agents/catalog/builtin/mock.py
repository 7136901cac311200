"""The scripted agent of this package."""

from sandbox_agent.agents.catalog.agent_table import COMPLETE_CAPABILITIES, AgentTable

MOCK: AgentTable = {
    "id": "mock",
    "name": "Mock",
    "skills_directory": ".agents/skills",
    "allowed_tools": "_meta.mock.tools",
    "builtin": True,
    "asks": "always",
    "capabilities": [*COMPLETE_CAPABILITIES, "planMode", "questions", "status"],
}
