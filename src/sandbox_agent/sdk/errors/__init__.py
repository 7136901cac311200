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

from sandbox_agent.sdk.errors.agent_errors import (
    INSTANCE_GONE,
    AgentExitedError,
    AuthRequiredError,
    InvalidParamsError,
    MethodNotFoundError,
    ResourceNotFoundError,
    RpcError,
)
from sandbox_agent.sdk.errors.base_error import SandboxAgentError
from sandbox_agent.sdk.errors.sandbox_errors import (
    ClientClosedError,
    CommandFailedError,
    SandboxDestroyedError,
    SandboxProviderError,
    SpawnError,
)
from sandbox_agent.sdk.errors.server_errors import (
    PROBLEM_PREFIX,
    AgentNotInstalledError,
    AgentProcessError,
    AgentTimeoutError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    InstallFailedError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    UnsupportedAgentError,
)
from sandbox_agent.sdk.errors.session_errors import (
    CallbackError,
    ConcurrentPromptError,
    InvalidAnswerError,
    LimitExceededError,
    OutputError,
    PermissionNotFoundError,
    QuestionNotFoundError,
    SessionAlreadyExistsError,
    SessionEndedError,
    SessionNotFoundError,
    SessionNotRestoredError,
    SteeringError,
    UnsupportedPermissionReplyError,
)
from sandbox_agent.sdk.errors.session_option_errors import (
    McpConfigError,
    SkillSourceError,
    ToolsUnavailableError,
    UnsupportedSessionCategoryError,
    UnsupportedSessionConfigOptionError,
    UnsupportedSessionOptionError,
    UnsupportedSessionValueError,
)

__all__ = [
    "INSTANCE_GONE",
    "PROBLEM_PREFIX",
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AgentExitedError",
    "AgentNotInstalledError",
    "AgentProcessError",
    "AgentTimeoutError",
    "AuthRequiredError",
    "AuthenticationError",
    "BadRequestError",
    "CallbackError",
    "ClientClosedError",
    "CommandFailedError",
    "ConcurrentPromptError",
    "ConflictError",
    "InstallFailedError",
    "InternalServerError",
    "InvalidAnswerError",
    "InvalidParamsError",
    "LimitExceededError",
    "McpConfigError",
    "MethodNotFoundError",
    "NotFoundError",
    "OutputError",
    "PermissionDeniedError",
    "PermissionNotFoundError",
    "QuestionNotFoundError",
    "ResourceNotFoundError",
    "RpcError",
    "SandboxAgentError",
    "SandboxDestroyedError",
    "SandboxProviderError",
    "SessionAlreadyExistsError",
    "SessionEndedError",
    "SessionNotFoundError",
    "SessionNotRestoredError",
    "SkillSourceError",
    "SpawnError",
    "SteeringError",
    "ToolsUnavailableError",
    "UnsupportedAgentError",
    "UnsupportedPermissionReplyError",
    "UnsupportedSessionCategoryError",
    "UnsupportedSessionConfigOptionError",
    "UnsupportedSessionOptionError",
    "UnsupportedSessionValueError",
]
