"""The versions an install request names, checked against what the agent offers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.install.installed_build import InstalledBuild
from sandbox_agent.errors import InvalidRequest

_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")


@dataclass(frozen=True, slots=True)
class RequestedVersions:
    """Versions to install instead of the pinned ones; None is the pinned one."""

    process_version: str | None = None
    native_version: str | None = None

    def match(self, build: InstalledBuild | None) -> bool:
        """Whether this build has these versions; a program that the user installed has no known version."""
        process_version = build.version if build else None
        native_version = build.native_version if build else None
        return self.process_version in (None, process_version) and (
            self.native_version in (None, native_version)
        )


def check_versions(
    spec: AgentSpec, agent_version: str | None, process_version: str | None
) -> RequestedVersions:
    """Raises `InvalidRequest` for a version that is malformed or that this agent cannot have."""
    for name, version in (("agentVersion", agent_version), ("agentProcessVersion", process_version)):
        if version is not None and not _VERSION.fullmatch(version):
            raise InvalidRequest(f"{name} '{version}' is not a version")
        if version is not None and (spec.builtin or spec.is_local):
            raise InvalidRequest(f"{spec.id} has no versions to choose from")
    if agent_version is None:
        return RequestedVersions(process_version)
    if spec.is_one_program:
        if process_version not in (None, agent_version):
            raise InvalidRequest(
                f"{spec.id} is one program: agentVersion {agent_version} and agentProcessVersion "
                f"{process_version} exclude each other"
            )
        return RequestedVersions(agent_version)
    if not any(step.native for step in spec.install):
        raise InvalidRequest(
            f"{spec.id} includes its vendor's program, whose version cannot be chosen: choose "
            "agentProcessVersion instead"
        )
    return RequestedVersions(process_version, agent_version)
