"""From an exception to the kind and text of a failed row."""

from __future__ import annotations

from sandbox_agent.sdk.errors import (
    AgentExitedError,
    AgentProcessError,
    AgentTimeoutError,
    APIConnectionError,
    RpcError,
    SandboxAgentError,
    SandboxDestroyedError,
    SandboxProviderError,
    SpawnError,
)

_MAX_CHARS = 4000


class RolloutFailure(Exception):
    """A rollout that cannot go on, with the kind of its row."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(message)


def failure_of(error: Exception, phase: str) -> tuple[str, str]:
    """The kind and text for an exception that ended a rollout in `phase`."""
    text = (str(error) or type(error).__name__)[-_MAX_CHARS:]
    if isinstance(error, RolloutFailure):
        return error.kind, text
    if isinstance(error, SandboxProviderError | SandboxDestroyedError | SpawnError):
        return "sandbox", text
    if isinstance(error, AgentExitedError | AgentProcessError | AgentTimeoutError | RpcError):
        return "agent", text
    if isinstance(error, APIConnectionError):
        return "connection", text
    if isinstance(error, SandboxAgentError):
        return phase if phase in ("setup", "grading") else "agent", text
    return phase if phase in ("task", "setup", "grading") else "other", f"{type(error).__name__}: {text}"
