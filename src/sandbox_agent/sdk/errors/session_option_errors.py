"""Options and values of a session that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox_agent.sdk.errors.base_error import SandboxAgentError, listed


class UnsupportedSessionValueError(SandboxAgentError):
    """The agent does not offer this value."""

    def __init__(self, what: str, value: object, allowed: Iterable[str]) -> None:
        self.what = what
        self.value = value
        self.allowed = list(allowed)
        super().__init__(f"{what} {value!r} is not offered by the agent; allowed: {listed(self.allowed)}")


class UnsupportedSessionCategoryError(SandboxAgentError):
    """The agent has no option of this category (model, mode, thought level)."""

    def __init__(self, category: str, available: Iterable[str]) -> None:
        self.category = category
        self.available = list(available)
        super().__init__(f"the agent has no {category} option; it has: {listed(self.available)}")


class UnsupportedSessionConfigOptionError(SandboxAgentError):
    """The agent has no config option with this id."""

    def __init__(self, config_id: str, available: Iterable[str]) -> None:
        self.config_id = config_id
        self.available = list(available)
        super().__init__(f"the agent has no config option {config_id!r}; it has: {listed(self.available)}")


class UnsupportedSessionOptionError(SandboxAgentError):
    """The agent has nothing for an option of `sessions.create`, or for a method of a session."""

    def __init__(self, option: str, agent: str, reason: str) -> None:
        self.option = option
        self.agent = agent
        self.reason = reason
        super().__init__(f"{agent} cannot do {option}: {reason}")


class ToolsUnavailableError(SandboxAgentError):
    """The server cannot relay the calls of a session's `tools` to this program."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"tools= does not work here: {reason}")


class SkillSourceError(SandboxAgentError):
    """A source of skills is not valid or cannot be fetched."""

    def __init__(self, source: str, message: str) -> None:
        self.source = source
        super().__init__(f"skills from {source}: {message}")


class McpConfigError(SandboxAgentError):
    """An MCP server has a field that cannot be given to the agent."""

    def __init__(self, server: str, field: str, message: str) -> None:
        self.server = server
        self.field = field
        super().__init__(f"MCP server {server!r}: {field}: {message}")
