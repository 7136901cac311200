"""The errors of the SDK, as one tree.

SandboxAgentError
├── APIConnectionError            the server could not be reached, or the connection broke
│   └── APITimeoutError           a time limit of the client passed
├── APIStatusError                the server answered with an error status
│   ├── BadRequestError 400, AuthenticationError 401, PermissionDeniedError 403, NotFoundError 404,
│   │   ConflictError 409, InternalServerError 500 and above
│   └── UnsupportedAgentError, AgentNotInstalledError, InstallFailedError, AgentProcessError,
│       AgentTimeoutError
├── RpcError                      the agent answered with a JSON-RPC error
│   └── MethodNotFoundError, InvalidParamsError, AuthRequiredError, ResourceNotFoundError
├── AgentExitedError              the agent process ended while a call was waiting, or before it
├── SessionNotFoundError, SessionEndedError, SessionNotRestoredError, SessionAlreadyExistsError
├── PermissionNotFoundError, QuestionNotFoundError, ConcurrentPromptError, CallbackError
├── SteeringError                 the agent did not take a message into its running turn
├── OutputError                   an answer does not fit the type of `output`
├── ToolsUnavailableError         the server cannot relay the calls of tools to this program
├── UnsupportedPermissionReplyError, InvalidAnswerError
├── UnsupportedSessionValueError, UnsupportedSessionCategoryError, UnsupportedSessionConfigOptionError,
│   UnsupportedSessionOptionError
├── LimitExceededError            a turn was cancelled because of `max_cost` or `max_turns`
├── SkillSourceError, McpConfigError
├── SandboxDestroyedError         the sandbox no longer exists
├── SandboxProviderError          a container engine or another provider cannot be reached, or refused
├── ClientClosedError             the client was used after it was closed, or in a forked child
├── CommandFailedError            a command did not end with exit code 0
└── SpawnError                    a local server did not start; carries the tail of its log

Every error has its facts as attributes and can be pickled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self

PROBLEM_PREFIX = "urn:sandbox-agent:error:"
INSTANCE_GONE = "the agent instance no longer exists on the server"


class SandboxAgentError(Exception):
    """The base class of all errors of this library."""

    result: Any = None
    """For an error of a turn: the `TurnResult` so far, with the text and events before the error."""

    def again(self) -> Self:
        """The same error as another object: each caller that raises it has a traceback of its own."""
        copy: Self = _rebuild(type(self), self.args, dict(self.__dict__))
        copy.__cause__ = self.__cause__
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        # Constructors differ from `args`, so the object is rebuilt from its attributes instead.
        state = {**self.__dict__, "response": None} if "response" in self.__dict__ else self.__dict__
        return (_rebuild, (type(self), self.args, state))


def _rebuild(kind: type[Any], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


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


class SessionNotFoundError(SandboxAgentError):
    """The store has no session with this id."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} not found")


class SessionAlreadyExistsError(SandboxAgentError):
    """A session with the wanted id is already in the store."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} already exists; continue it with sessions.resume()")


class SessionEndedError(SandboxAgentError):
    """The session was terminated; `sessions.resume()` starts it again."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} has ended; sessions.resume({session_id!r}) starts it again")


class SessionNotRestoredError(SandboxAgentError):
    """None of the allowed ways to restore the session worked."""

    def __init__(self, session_id: str, tried: Mapping[str, str]) -> None:
        self.session_id = session_id
        self.tried = dict(tried)
        ways = "; ".join(f"{way}: {why}" for way, why in tried.items()) or "no way was allowed"
        super().__init__(f"session {session_id!r} could not be restored ({ways})")


class PermissionNotFoundError(SandboxAgentError):
    """No pending permission request has this id: it never existed, or it was answered."""

    def __init__(self, permission_id: str) -> None:
        self.permission_id = permission_id
        super().__init__(f"no pending permission request {permission_id!r}")


class QuestionNotFoundError(SandboxAgentError):
    """No pending question has this id: it never existed, or it was answered."""

    def __init__(self, question_id: str) -> None:
        self.question_id = question_id
        super().__init__(f"no pending question {question_id!r}")


class ConcurrentPromptError(SandboxAgentError):
    """A turn is running and the prompt was sent with `queue=False`."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id!r} is already working on a prompt")


class OutputError(SandboxAgentError):
    """The answer does not fit the type of `prompt(output=...)`, also after one repair; see `result`."""

    def __init__(self, type_name: str, problem: str) -> None:
        self.type_name = type_name
        self.problem = problem
        """What is wrong with the last answer."""
        super().__init__(f"the answer is not a valid {type_name}: {problem}")


class ToolsUnavailableError(SandboxAgentError):
    """The server cannot relay the calls of a session's `tools` to this program."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"tools= does not work here: {reason}")


class SteeringError(SandboxAgentError):
    """The agent did not take a message into its running turn."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        """`unsupported`, `no_turn` or `failed`."""
        super().__init__(message)


class CallbackError(SandboxAgentError):
    """An `on_permission` or `on_question` callback raised; the cause is attached."""


class UnsupportedPermissionReplyError(SandboxAgentError):
    """The agent offers no option for this reply; the request stays pending."""

    def __init__(self, permission_id: str, reply: str, available: Iterable[str]) -> None:
        self.permission_id = permission_id
        self.reply = reply
        self.available = list(available)
        offered = _listed(self.available)
        super().__init__(
            f"permission {permission_id!r} cannot be answered with {reply!r}; offered: {offered}"
        )


class InvalidAnswerError(SandboxAgentError):
    """The answer does not fit the question, which stays pending."""

    def __init__(self, question_id: str, message: str) -> None:
        self.question_id = question_id
        super().__init__(f"question {question_id!r}: {message}")


class UnsupportedSessionValueError(SandboxAgentError):
    """The agent does not offer this value."""

    def __init__(self, what: str, value: object, allowed: Iterable[str]) -> None:
        self.what = what
        self.value = value
        self.allowed = list(allowed)
        super().__init__(f"{what} {value!r} is not offered by the agent; allowed: {_listed(self.allowed)}")


class UnsupportedSessionCategoryError(SandboxAgentError):
    """The agent has no option of this category (model, mode, thought level)."""

    def __init__(self, category: str, available: Iterable[str]) -> None:
        self.category = category
        self.available = list(available)
        super().__init__(f"the agent has no {category} option; it has: {_listed(self.available)}")


class UnsupportedSessionConfigOptionError(SandboxAgentError):
    """The agent has no config option with this id."""

    def __init__(self, config_id: str, available: Iterable[str]) -> None:
        self.config_id = config_id
        self.available = list(available)
        super().__init__(f"the agent has no config option {config_id!r}; it has: {_listed(self.available)}")


class UnsupportedSessionOptionError(SandboxAgentError):
    """The agent has nothing for an option of `sessions.create`."""

    def __init__(self, option: str, agent: str, reason: str) -> None:
        self.option = option
        self.agent = agent
        self.reason = reason
        super().__init__(f"{agent} cannot do {option}: {reason}")


class LimitExceededError(SandboxAgentError):
    """`max_cost` or `max_turns` of a session was exceeded; a running turn was cancelled, see `result`."""

    def __init__(self, limit: str, allowed: float, reached: float) -> None:
        self.limit = limit
        self.allowed = allowed
        self.reached = reached
        super().__init__(f"{limit} is {allowed:g}, and {reached:g} is reached")


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


def _describe_status(status: int, problem: Mapping[str, Any], text: str, request: str) -> str:
    said = str(problem.get("detail") or problem.get("title") or text.strip()[:500] or "no explanation")
    details = problem.get("details")
    stderr = details.get("stderr") if isinstance(details, Mapping) else None
    tail = f"\n{stderr.rstrip()}" if isinstance(stderr, str) and stderr.strip() else ""
    return f"{said} (HTTP {status}{', ' + request if request else ''}){tail}"


def _short_data(data: Any) -> str:
    return "" if data in (None, {}, "") else f": {str(data)[:300]}"


def _listed(values: list[str]) -> str:
    return ", ".join(values) if values else "nothing"


class CommandFailedError(SandboxAgentError):
    """A command of `processes.run` has not ended with exit code 0; `result` has its output."""

    def __init__(self, message: str, *, result: object) -> None:
        super().__init__(message)
        self.result = result
