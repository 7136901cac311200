"""Errors of sandboxes, of servers that the SDK starts, and of commands in a sandbox."""

from __future__ import annotations

from sandbox_agent.sdk.errors.base_error import SandboxAgentError


class SandboxDestroyedError(SandboxAgentError):
    """The sandbox to reconnect to no longer exists."""

    def __init__(self, sandbox_id: str, provider: str) -> None:
        self.sandbox_id = sandbox_id
        self.provider = provider
        super().__init__(f"sandbox {sandbox_id!r} of provider {provider!r} no longer exists")


class SandboxProviderError(SandboxAgentError):
    """The provider of sandboxes cannot be reached, or it refused a request."""

    def __init__(self, provider: str, message: str, *, status: int | None = None) -> None:
        self.provider = provider
        self.status = status
        """The HTTP status of its answer, if there was one."""
        super().__init__(f"{provider}: {message}")


class ClientClosedError(SandboxAgentError, RuntimeError):
    """The client was used after it was closed, or in a forked child."""


class SpawnError(SandboxAgentError):
    """A local server did not start; `stderr_tail` has the last lines it wrote."""

    def __init__(self, message: str, *, stderr_tail: str = "", exit_code: int | None = None) -> None:
        self.stderr_tail = stderr_tail
        self.exit_code = exit_code
        tail = f"\n{stderr_tail.rstrip()}" if stderr_tail.strip() else ""
        super().__init__(f"{message}{tail}")


class CommandFailedError(SandboxAgentError):
    """A command of `processes.run` has not ended with exit code 0; `result` has its output."""

    def __init__(self, message: str, *, result: object) -> None:
        super().__init__(message)
        self.result = result
