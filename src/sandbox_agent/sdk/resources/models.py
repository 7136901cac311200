"""Responses of the server's control endpoints, as frozen dataclasses.

Each object keeps the JSON it was made from in `raw`, so fields this library does not know are available.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class InstallProgress:
    """How far an install is."""

    step: str
    message: str
    bytes: int = 0
    percent: int | None = None
    """An estimate; None while there is none."""

    @classmethod
    def from_json(cls, data: Json) -> InstallProgress:
        return cls(data["step"], data["message"], data.get("bytes", 0), data.get("percent"))


def _installing(data: Json) -> InstallProgress | None:
    progress = data.get("installing")
    return InstallProgress.from_json(progress) if progress else None


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """One agent the server knows."""

    id: str
    installed: bool
    credentials_available: bool
    capabilities: Mapping[str, bool]
    permission_requests: str | None = None
    """Whether it asks before its tools run: `always`, `partly`, `terminal` (only clients that serve one) or
    `never`; None if the server does not know."""
    installing: InstallProgress | None = None
    """Set while the agent is being installed."""
    version: str | None = None
    path: str | None = None
    server_status: str | None = None
    config_status: str | None = None
    """Whether models and modes are `known`; else `asking`, `failed` or `unknown`. Only with `config=True`."""
    config_options: list[dict[str, Any]] = field(default_factory=list)
    config_error: str | None = None
    models: list[dict[str, Any]] = field(default_factory=list)
    default_model: str | None = None
    modes: list[dict[str, Any]] = field(default_factory=list)
    skills_directory: str | None = None
    """Where the agent looks for skills, below the working directory; None if it is not known."""
    allowed_tools_parameter: str | None = None
    """The parameter of `session/new` for `allowed_tools`, as a path with dots; None if there is none."""
    raw: Json = field(default_factory=dict, repr=False)

    @property
    def never_asks(self) -> bool:
        """No tool of the agent waits for a permission of this client, so none can be refused."""
        return self.permission_requests in ("never", "terminal")

    @classmethod
    def from_json(cls, data: Json) -> AgentInfo:
        return cls(
            id=data["id"],
            installed=bool(data.get("installed")),
            credentials_available=bool(data.get("credentialsAvailable")),
            capabilities=dict(data.get("capabilities") or {}),
            permission_requests=data.get("permissionRequests"),
            installing=_installing(data),
            version=data.get("version"),
            path=data.get("path"),
            server_status=(data.get("serverStatus") or {}).get("status"),
            config_status=data.get("configStatus"),
            config_options=list(data.get("configOptions") or []),
            config_error=data.get("configError"),
            models=list(data.get("models") or []),
            default_model=data.get("defaultModel"),
            modes=list(data.get("modes") or []),
            skills_directory=data.get("skillsDirectory"),
            allowed_tools_parameter=data.get("allowedToolsParameter"),
            raw=dict(data),
        )


@dataclass(frozen=True, slots=True)
class InstalledArtifact:
    """One program that was installed."""

    kind: str
    path: str
    source: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class InstallResult:
    """The result of an install."""

    already_installed: bool
    artifacts: list[InstalledArtifact]
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, data: Json) -> InstallResult:
        made = [
            InstalledArtifact(one["kind"], one["path"], one["source"], one.get("version"))
            for one in data.get("artifacts") or []
        ]
        return cls(bool(data.get("already_installed")), made, dict(data))


@dataclass(frozen=True, slots=True)
class AcpInstance:
    """One agent instance of the server."""

    server_id: str
    agent: str
    created_at_ms: int
    status: str | None = None
    installing: InstallProgress | None = None
    """Set while the agent is installed before it can start."""
    pid: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    pending_requests: int | None = None
    last_event_id: int | None = None
    subscribers: int | None = None
    last_activity_ms: int | None = None
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, data: Json) -> AcpInstance:
        return cls(
            server_id=data["serverId"],
            agent=data["agent"],
            created_at_ms=data["createdAtMs"],
            status=data.get("status"),
            installing=_installing(data),
            pid=data.get("pid"),
            exit_code=data.get("exitCode"),
            signal=data.get("signal"),
            pending_requests=data.get("pendingRequests"),
            last_event_id=data.get("lastEventId"),
            subscribers=data.get("subscribers"),
            last_activity_ms=data.get("lastActivityMs"),
            raw=dict(data),
        )


@dataclass(frozen=True, slots=True)
class Share:
    """A ticket to read one instance. `ticket` and `url` are known only to the client that created it."""

    id: str
    server_id: str
    created_at_ms: int
    expires_at_ms: int
    readers: int = 0
    """Streams that are open with it."""
    ticket: str | None = field(default=None, repr=False)
    url: str | None = field(default=None, repr=False)
    """The inspector page, which shows the instance to readers of this address."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file or directory in the sandbox; `name` is the last part of the path."""

    path: str
    name: str
    entry_type: Literal["file", "directory"]
    size: int
    modified: str | None = None

    @property
    def is_dir(self) -> bool:
        return self.entry_type == "directory"

    @classmethod
    def from_json(cls, data: Json) -> FileInfo:
        path = data["path"]
        return cls(
            path=path,
            name=data.get("name") or path.rstrip("/").rpartition("/")[2],
            entry_type=data["entryType"],
            size=data["size"],
            modified=data.get("modified"),
        )


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The paths a tar upload wrote; `truncated` if there were more than the server lists."""

    paths: list[str]
    truncated: bool
