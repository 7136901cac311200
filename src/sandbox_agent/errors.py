"""The errors of the server, one class per cause.

SandboxAgentError
├── InvalidRequest            400  the request cannot be understood
├── UnsupportedAgent          400  the catalogue has no agent of this name
├── TokenInvalid              401
├── PermissionDenied          403  the file system refuses access
├── ForbiddenOrigin           403  a page of an origin that is not allowed
├── NotFound                  404  route, path or config entry
├── SessionNotFound           404  no such server_id
├── AgentNotInstalled         404  and install on first use is switched off
├── MethodNotAllowed          405
├── NotAcceptable             406
├── RequestTimeout            408  the client was too slow to send its request
├── Conflict                  409
├── PreconditionFailed        412
├── PayloadTooLarge           413
├── UnsupportedMediaType      415
├── RangeNotSatisfiable       416
├── MisdirectedRequest        421  a Host that the server does not accept
├── TooManyStreams            429
├── HeadersTooLarge           431
├── InstallFailed             500
├── InternalError             500  an unexpected exception; details are in the log only
├── AgentProcessExited        502
├── StreamError               502  spawn, pipe or system failure
├── TooManyInstances          503
├── OutOfDescriptors          503
├── ServerStopping            503
└── Timeout                   504

Each class has its kind, title and status; an instance adds the readable `detail` and extension members.
`http/problems.py` is the only place that encodes them as problem+json.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar

# Of 429 and 503: the time in which streams and instances usually end, or a server is started again.
_RETRY_AFTER = {"retry-after": "5"}


class SandboxAgentError(Exception):
    """Base of all errors; `str(error)` is the problem's `detail`."""

    kind: ClassVar[str]
    title: ClassVar[str]
    status: ClassVar[int]

    def __init__(
        self,
        detail: str,
        extensions: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.extensions: dict[str, Any] = dict(extensions or {})
        self.headers: dict[str, str] = dict(headers or {})


class InvalidRequest(SandboxAgentError):
    kind, title, status = "invalid_request", "Invalid Request", 400

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"invalid request: {message}", {"details": dict(details)} if details else None)


class UnsupportedAgent(SandboxAgentError):
    kind, title, status = "unsupported_agent", "Unsupported Agent", 400

    def __init__(self, agent: str) -> None:
        super().__init__(f"unsupported agent: {agent}", {"agent": agent})


class TokenInvalid(SandboxAgentError):
    kind, title, status = "token_invalid", "Token Invalid", 401

    def __init__(self) -> None:
        super().__init__(
            "token invalid",
            {"details": {"message": "missing or invalid bearer token"}},
            {"www-authenticate": "Bearer"},
        )


class PermissionDenied(SandboxAgentError):
    kind, title, status = "permission_denied", "Permission Denied", 403

    def __init__(self, path: str, message: str = "the user of the server has no permission") -> None:
        super().__init__(f"permission denied: {path}", {"details": {"message": message}})


class ForbiddenOrigin(SandboxAgentError):
    kind, title, status = "forbidden_origin", "Forbidden Origin", 403

    def __init__(self, origin: str) -> None:
        message = "this origin may not use the server; allow it with --cors-allow-origin"
        super().__init__(f"forbidden origin: {origin}", {"details": {"message": message}})


class NotFound(SandboxAgentError):
    kind, title, status = "not_found", "Not Found", 404

    @classmethod
    def endpoint(cls) -> NotFound:
        return cls("endpoint not found")

    @classmethod
    def switched_off(cls, flag: str) -> NotFound:
        return cls(f"endpoint not found: it is switched off ({flag} off)", {"details": {"setting": flag}})

    @classmethod
    def resource(cls, resource: str, identifier: str) -> NotFound:
        return cls(
            f"not found: {resource} {identifier}", {"details": {"resource": resource, "id": identifier}}
        )


class SessionNotFound(SandboxAgentError):
    kind, title, status = "session_not_found", "Session Not Found", 404

    def __init__(self, server_id: str) -> None:
        super().__init__(f"session not found: {server_id}", {"sessionId": server_id})


class AgentNotInstalled(SandboxAgentError):
    kind, title, status = "agent_not_installed", "Agent Not Installed", 404

    def __init__(self, agent: str) -> None:
        super().__init__(f"agent not installed: {agent}", {"agent": agent})


class MethodNotAllowed(SandboxAgentError):
    kind, title, status = "method_not_allowed", "Method Not Allowed", 405

    def __init__(self, method: str, allow: str) -> None:
        message = f"allowed here: {allow}"
        super().__init__(f"method not allowed: {method}", {"details": {"message": message}}, {"allow": allow})


class _WithMessage(SandboxAgentError):
    """Errors whose detail is `<prefix>: <message>` and whose extension `details` repeats the message."""

    prefix: ClassVar[str]

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(f"{self.prefix}: {message}", {"details": {"message": message, **details}})
        self.message = message


class NotAcceptable(_WithMessage):
    kind, title, status, prefix = "not_acceptable", "Not Acceptable", 406, "not acceptable"


class RequestTimeout(_WithMessage):
    kind, title, status, prefix = "request_timeout", "Request Timeout", 408, "request timeout"


class Conflict(_WithMessage):
    kind, title, status, prefix = "conflict", "Conflict", 409, "conflict"


class PreconditionFailed(_WithMessage):
    kind, title, status, prefix = "precondition_failed", "Precondition Failed", 412, "precondition failed"


class PayloadTooLarge(_WithMessage):
    kind, title, status, prefix = "payload_too_large", "Payload Too Large", 413, "payload too large"

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message, limit=limit)


class UnsupportedMediaType(_WithMessage):
    kind, title, status = "unsupported_media_type", "Unsupported Media Type", 415
    prefix = "unsupported media type"


class RangeNotSatisfiable(SandboxAgentError):
    kind, title, status = "range_not_satisfiable", "Range Not Satisfiable", 416

    def __init__(self, requested: str, size: int) -> None:
        super().__init__(f"range not satisfiable: {requested}", headers={"content-range": f"bytes */{size}"})


class MisdirectedRequest(SandboxAgentError):
    kind, title, status = "misdirected_request", "Misdirected Request", 421

    def __init__(self, host: str) -> None:
        message = "the server does not accept this Host; allow it with --allow-host"
        super().__init__(f"misdirected request: {host}", {"details": {"message": message}})


class TooManyStreams(_WithMessage):
    kind, title, status, prefix = "too_many_streams", "Too Many Streams", 429, "too many streams"

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server already serves {limit} event streams", limit=limit)
        self.headers |= _RETRY_AFTER


class HeadersTooLarge(_WithMessage):
    kind, title, status, prefix = "headers_too_large", "Headers Too Large", 431, "headers too large"

    def __init__(self, limit: int, unit: str = "bytes") -> None:
        super().__init__(f"request line and headers exceed {limit} {unit}", limit=limit)


class InstallFailed(SandboxAgentError):
    kind, title, status = "install_failed", "Install Failed", 500

    def __init__(self, agent: str, stderr: str) -> None:
        super().__init__(f"install failed: {agent}", {"agent": agent, "details": {"stderr": stderr}})


class InternalError(SandboxAgentError):
    kind, title, status = "internal_error", "Internal Error", 500

    def __init__(self) -> None:
        super().__init__("internal error")


class AgentProcessExited(SandboxAgentError):
    kind, title, status = "agent_process_exited", "Agent Process Exited", 502

    def __init__(
        self,
        agent: str,
        *,
        exit_code: int | None = None,
        signal: str | None = None,
        stderr: str = "",
        closed: bool = False,
    ) -> None:
        """`closed`: it did not exit by itself, its instance was closed while the request waited."""
        details: dict[str, Any] = {}
        if closed:
            details["closed"] = True
        if exit_code is not None:
            details["exitCode"] = exit_code
        if signal is not None:
            details["signal"] = signal
        if stderr:
            details["stderr"] = stderr
        reason = "its instance was closed" if closed else "agent process exited"
        super().__init__(f"{reason}: {agent}", {"agent": agent, "details": details})


class StreamError(_WithMessage):
    kind, title, status, prefix = "stream_error", "Stream Error", 502, "stream error"


class TooManyInstances(_WithMessage):
    kind, title, status, prefix = "too_many_instances", "Too Many Instances", 503, "too many instances"

    def __init__(self, limit: int) -> None:
        super().__init__(f"the server already runs {limit} instances; close some with DELETE", limit=limit)
        self.headers |= _RETRY_AFTER


class OutOfDescriptors(_WithMessage):
    kind, title, status, prefix = "out_of_descriptors", "Out Of Descriptors", 503, "out of descriptors"

    def __init__(self) -> None:
        super().__init__("the server has no file descriptors left; close connections or raise `ulimit -n`")
        self.headers["retry-after"] = "1"


class ServerStopping(_WithMessage):
    kind, title, status, prefix = "server_stopping", "Server Stopping", 503, "server stopping"

    def __init__(self) -> None:
        super().__init__("the server is shutting down")
        self.headers |= _RETRY_AFTER


class Timeout(SandboxAgentError):
    kind, title, status = "timeout", "Timeout", 504

    def __init__(self, message: str = "timed out waiting for agent response") -> None:
        super().__init__("timeout", {"details": {"message": message}})


def unexpected(error: Exception) -> SandboxAgentError:
    """What a client is told of an exception that no handler expected."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return OutOfDescriptors()
    return InternalError()
