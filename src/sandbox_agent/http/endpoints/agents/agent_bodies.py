"""Bodies of the agent endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox_agent.http.endpoints.agents.install_progress import InstallProgress

if TYPE_CHECKING:
    from sandbox_agent.agents.install.install_result import InstallResult as Installed


class AgentCapabilities(msgspec.Struct, rename="camel", kw_only=True):
    """The flags of the catalogue (`CAPABILITIES` in `agents.catalog.agent_spec`), in the same order."""

    plan_mode: bool
    permissions: bool
    questions: bool
    tool_calls: bool
    tool_results: bool
    text_messages: bool
    images: bool
    file_attachments: bool
    session_lifecycle: bool
    error_events: bool
    reasoning: bool
    status: bool
    command_execution: bool
    file_changes: bool
    mcp_tools: bool
    streaming_deltas: bool
    item_started: bool
    shared_process: bool


class ServerStatus(msgspec.Struct, rename="camel"):
    """Whether an instance of the agent runs, and for how long the oldest one has."""

    status: Literal["running", "stopped"]
    uptime_ms: Annotated[int, Meta(ge=0)]


class ConfigChoice(msgspec.Struct):
    name: str
    value: str
    description: str | UnsetType = UNSET


class ConfigOption(msgspec.Struct, rename="camel", kw_only=True):
    """One setting of a session: model, mode or thought level."""

    category: str
    current_value: str
    id: str
    name: str
    options: list[ConfigChoice]
    type: Literal["select"]


class AgentModel(msgspec.Struct):
    id: str
    name: str


class AgentMode(msgspec.Struct):
    id: str
    name: str
    description: str


class AgentInfo(msgspec.Struct, rename="camel", kw_only=True):
    """One agent of the catalogue. Fields without a value are left out."""

    id: str
    name: str
    installed: bool
    credentials_available: bool
    credential_variables: (
        Annotated[
            list[str],
            Meta(description="Environment variables from which the agent reads a key, the usual one first."),
        ]
        | UnsetType
    ) = UNSET
    quirks: (
        Annotated[list[str], Meta(description="Observed behaviour that users of the agent should know.")]
        | UnsetType
    ) = UNSET
    installing: InstallProgress | UnsetType = UNSET
    version: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    capabilities: AgentCapabilities
    permission_requests: (
        Annotated[
            Literal["always", "partly", "terminal", "never"],
            Meta(
                description="Whether the agent asks before its tools run. `always`: before each that changes "
                "something. `partly`: before some, or as its config or mode says. `terminal`: only clients "
                "that serve `terminal` and `fs`. `never`: every tool runs. Absent if it is not known."
            ),
        ]
        | UnsetType
    ) = UNSET
    skills_directory: str | UnsetType = UNSET
    allowed_tools_parameter: (
        Annotated[
            str,
            Meta(
                description="The parameter of `session/new` that lists the built-in tools of a session, as a "
                "path with dots. Absent if the agent has none."
            ),
        ]
        | UnsetType
    ) = UNSET
    server_status: ServerStatus | UnsetType = UNSET
    config_status: (
        Annotated[
            Literal["known", "asking", "failed", "unknown"],
            Meta(
                description="Whether models and modes are known. `known`: the agent has reported what "
                "`configOptions`, `models` and `modes` have. `asking`: it is being asked, ask again. "
                "`failed`: `configError` says why. `unknown`: it was not asked, because it is not installed "
                "or has no credentials."
            ),
        ]
        | UnsetType
    ) = UNSET
    config_options: list[ConfigOption] | UnsetType = UNSET
    config_error: str | UnsetType = UNSET
    models: list[AgentModel] | UnsetType = UNSET
    default_model: str | UnsetType = UNSET
    modes: list[AgentMode] | UnsetType = UNSET


class AgentList(msgspec.Struct):
    agents: list[AgentInfo]


class InstallRequest(msgspec.Struct, rename="camel"):
    """Which versions to install; `null` counts as absent."""

    reinstall: bool | None = None
    agent_version: str | None = None
    agent_process_version: str | None = None


class InstalledArtifact(msgspec.Struct, omit_defaults=True):
    kind: Literal["agent_process", "native_agent"]
    path: str
    source: Literal["registry", "fallback", "local_path", "builtin"]
    version: str | None = None


class InstallResult(msgspec.Struct):
    """What was installed, now or before. `already_installed` is snake_case on the wire (decision 29)."""

    already_installed: bool
    artifacts: list[InstalledArtifact]

    @classmethod
    def of(cls, installed: Installed) -> InstallResult:
        return msgspec.convert(installed, cls, from_attributes=True)
