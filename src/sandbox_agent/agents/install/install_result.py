"""What an install has done, as `POST /v1/agents/{agent}/install` answers it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InstallArtifact:
    kind: str
    """`agent_process` or `native_agent`."""
    path: str
    source: str
    """`registry`, `fallback` (the catalogue's pins), `local_path` or `builtin`."""
    version: str | None = None


@dataclass(frozen=True, slots=True)
class InstallResult:
    already_installed: bool
    artifacts: tuple[InstallArtifact, ...] = ()
