"""The exception for an answer: by status and problem document of the server, or by the agent's error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent import jsonrpc_error_codes as codes
from sandbox_agent.sdk.errors import (
    PROBLEM_PREFIX,
    AgentExitedError,
    AgentNotInstalledError,
    AgentProcessError,
    AgentTimeoutError,
    APIStatusError,
    AuthenticationError,
    AuthRequiredError,
    BadRequestError,
    ConflictError,
    InstallFailedError,
    InternalServerError,
    InvalidParamsError,
    MethodNotFoundError,
    NotFoundError,
    PermissionDeniedError,
    ResourceNotFoundError,
    RpcError,
    SandboxAgentError,
    UnsupportedAgentError,
)

_BY_KIND: dict[str, type[APIStatusError]] = {
    "unsupported_agent": UnsupportedAgentError,
    "agent_not_installed": AgentNotInstalledError,
    "install_failed": InstallFailedError,
    "agent_process_exited": AgentProcessError,
    "stream_error": AgentProcessError,
    "timeout": AgentTimeoutError,
}
_BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    504: AgentTimeoutError,
}
_BY_CODE: dict[int, type[RpcError]] = {
    codes.METHOD_NOT_FOUND: MethodNotFoundError,
    codes.INVALID_PARAMS: InvalidParamsError,
    codes.AUTH_REQUIRED: AuthRequiredError,
    codes.RESOURCE_NOT_FOUND: ResourceNotFoundError,
}


def status_error(
    status: int, problem: Mapping[str, Any] | None = None, *, text: str = "", request: str = ""
) -> APIStatusError:
    """The exception for an error status: by the kind of the problem, else by the status."""
    kind = str((problem or {}).get("type", "")).removeprefix(PROBLEM_PREFIX)
    fallback = InternalServerError if status >= 500 else APIStatusError
    return _BY_KIND.get(kind, _BY_STATUS.get(status, fallback))(status, problem, text=text, request=request)


def exit_error(problem: Mapping[str, Any]) -> AgentExitedError:
    """The exception for the end of the agent process, from the server's problem document."""
    details = problem.get("details")
    facts: Mapping[str, Any] = details if isinstance(details, Mapping) else {}
    code = facts.get("exitCode")
    error = AgentExitedError(
        str(problem.get("detail") or "the agent process has ended"),
        exit_code=code if isinstance(code, int) else None,
        signal=facts.get("signal"),
        stderr=str(facts.get("stderr") or ""),
    )
    error.__cause__ = AgentProcessError(int(problem.get("status") or 502), problem)
    return error


def rpc_error(error: Any, *, method: str = "") -> SandboxAgentError:
    """The exception for a JSON-RPC error object, or for the problem document inside it.

    After the response header is sent, the server reports a failure as a JSON-RPC error with the problem.
    """
    if not isinstance(error, Mapping):
        return RpcError(0, str(error), method=method)
    data = error.get("data")
    if isinstance(data, Mapping) and str(data.get("type", "")).startswith(PROBLEM_PREFIX):
        if data["type"] == PROBLEM_PREFIX + "agent_process_exited":
            return exit_error(data)
        return status_error(int(data.get("status") or 500), data, request=method)
    code = error.get("code")
    number = code if isinstance(code, int) else 0
    return _BY_CODE.get(number, RpcError)(number, str(error.get("message") or ""), data, method=method)
