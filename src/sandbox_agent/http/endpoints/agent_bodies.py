"""Bodies of the agent endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

if TYPE_CHECKING:
    from sandbox_agent.agents.install.install_result import InstallResult as Installed
    from sandbox_agent.agents.install.progress import Progress


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
    installed: bool
    credentials_available: bool
    version: str | UnsetType = UNSET
    path: str | UnsetType = UNSET
    capabilities: AgentCapabilities
    skills_directory: str | UnsetType = UNSET
    server_status: ServerStatus | UnsetType = UNSET
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


class InstallProgress(msgspec.Struct, omit_defaults=True):
    """A `progress` event of an install; `percent` is left out while it cannot be estimated."""

    step: str
    message: str
    bytes: int
    percent: int | None = None

    @classmethod
    def of(cls, progress: Progress) -> InstallProgress:
        return msgspec.convert(progress, cls, from_attributes=True)
