"""What the server answered, or that it could not be reached."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_agent.sdk.errors.base_error import SandboxAgentError

PROBLEM_PREFIX = "urn:sandbox-agent:error:"


class APIConnectionError(SandboxAgentError):
    """The server could not be reached, or the connection broke before the answer arrived."""

    def __init__(self, message: str, *, delivery_unknown: bool = False) -> None:
        super().__init__(message)
        self.delivery_unknown = delivery_unknown
        """True when the request may have reached the agent; it was not sent a second time."""


class APITimeoutError(APIConnectionError):
    """A time limit of the client passed before the answer arrived."""


class APIStatusError(SandboxAgentError):
    """The server answered with an error status; `problem` is the problem document, if there is one."""

    def __init__(
        self, status_code: int, problem: Mapping[str, Any] | None = None, *, text: str = "", request: str = ""
    ) -> None:
        self.response: Any = None
        """The `httpx.Response`, if there was one; it is not pickled."""
        self.status_code = status_code
        self.problem: dict[str, Any] = dict(problem or {})
        self.request = request
        """Method and path of the request."""
        super().__init__(_describe_status(status_code, self.problem, text, request))

    @property
    def error_type(self) -> str:
        """The kind at the end of the problem's URN, such as `unsupported_agent`; empty if unknown."""
        kind = self.problem.get("type")
        return kind.removeprefix(PROBLEM_PREFIX) if isinstance(kind, str) else ""

    @property
    def details(self) -> dict[str, Any]:
        """The problem's `details` extension, or an empty mapping."""
        details = self.problem.get("details")
        return details if isinstance(details, dict) else {}


class BadRequestError(APIStatusError):
    """400: the request is invalid."""


class AuthenticationError(APIStatusError):
    """401: the token is missing or wrong."""


class PermissionDeniedError(APIStatusError):
    """403: the path or origin is not allowed."""


class NotFoundError(APIStatusError):
    """404: no such path, entry or instance."""


class ConflictError(APIStatusError):
    """409: the id is bound to another agent, or a config file is corrupt."""


class InternalServerError(APIStatusError):
    """500 and above, without a more specific class."""


class UnsupportedAgentError(BadRequestError):
    """The server does not know this agent; `available` has those it knows, if it was asked."""

    available: tuple[str, ...] = ()

    def offer(self, agents: Iterable[str]) -> None:
        """Add the agents that the server knows to the error and to its text."""
        self.available = tuple(agents)
        if self.available:
            self.args = (f"{self.args[0]}; the server knows {', '.join(self.available)}",)


class AgentNotInstalledError(NotFoundError):
    """The agent is not installed and the server may not install it on demand."""


class InstallFailedError(InternalServerError):
    """The agent could not be installed; `details["stderr"]` has the tail of the log."""


class AgentProcessError(InternalServerError):
    """The agent process could not be started, written to or read from."""


class AgentTimeoutError(InternalServerError):
    """The agent was silent for longer than the server's limit."""


def _describe_status(status: int, problem: Mapping[str, Any], text: str, request: str) -> str:
    said = str(problem.get("detail") or problem.get("title") or text.strip()[:500] or "no explanation")
    details = problem.get("details")
    stderr = details.get("stderr") if isinstance(details, Mapping) else None
    tail = f"\n{stderr.rstrip()}" if isinstance(stderr, str) and stderr.strip() else ""
    return f"{said} (HTTP {status}{', ' + request if request else ''}){tail}"
