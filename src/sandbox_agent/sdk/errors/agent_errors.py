"""What an agent answered, and the end of its process."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.errors.base_error import SandboxAgentError

INSTANCE_GONE = "the agent instance no longer exists on the server"


class RpcError(SandboxAgentError):
    """The agent answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None, *, method: str = "") -> None:
        self.code = code
        self.message = message
        """The agent's message."""
        self.data = data
        self.method = method
        label = f"{method}: " if method else ""
        extra = _short_data(data)
        super().__init__(f"{label}{message or 'error'} (code {code}){extra}")


class MethodNotFoundError(RpcError):
    """-32601: the agent does not know the method."""


class InvalidParamsError(RpcError):
    """-32602: the agent refused the parameters."""


class AuthRequiredError(RpcError):
    """-32000: the agent requires a login or an API key."""


class ResourceNotFoundError(RpcError):
    """-32002: the agent does not know the session or resource."""


class AgentExitedError(SandboxAgentError):
    """The agent process has ended; `exit_code` or `signal` and the tail of `stderr` say how."""

    def __init__(
        self,
        message: str = "the agent process has ended",
        *,
        exit_code: int | None = None,
        signal: str | None = None,
        stderr: str = "",
        vanished: bool = False,
        never_delivered: bool = False,
    ) -> None:
        self.never_delivered = never_delivered
        """The request certainly did not reach the agent."""
        self.vanished = vanished
        """The server no longer has the instance: it was deleted, or the server was restarted."""
        self.exit_code = exit_code
        self.signal = signal
        self.stderr = stderr
        how = f" (exit code {exit_code})" if exit_code is not None else f" ({signal})" if signal else ""
        tail = f"\n{stderr.rstrip()}" if stderr.strip() else ""
        super().__init__(f"{message}{how}{tail}")

    def before_delivery(self) -> AgentExitedError:
        """The same end, for a call whose message had not left yet."""
        copy = self.again()
        copy.never_delivered = True
        return copy


def _short_data(data: Any) -> str:
    return "" if data in (None, {}, "") else f": {str(data)[:300]}"
