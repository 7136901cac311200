"""The scripted agent of this package."""

from sandbox_agent.agents.catalog.agent_table import USUAL_CAPABILITIES, AgentTable

MOCK: AgentTable = {
    "id": "mock",
    "name": "Mock",
    "skills_directory": ".agents/skills",
    "allowed_tools": "_meta.mock.tools",
    "builtin": True,
    "asks": "always",
    "capabilities": [
        *USUAL_CAPABILITIES,
        "planMode",
        "permissions",
        "questions",
        "images",
        "fileAttachments",
        "sessionLifecycle",
        "reasoning",
        "status",
        "commandExecution",
        "fileChanges",
        "mcpTools",
    ],
}
