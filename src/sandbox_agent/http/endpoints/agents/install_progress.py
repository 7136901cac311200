"""The body that describes a running install: its step, its bytes, its percentage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from sandbox_agent.agents.install.install_progress import Progress


class InstallProgress(msgspec.Struct, omit_defaults=True):
    """A running install; `percent` is left out while it cannot be estimated."""

    step: str
    message: str
    bytes: int
    percent: int | None = None

    @classmethod
    def of(cls, progress: Progress) -> InstallProgress:
        return msgspec.convert(progress, cls, from_attributes=True)
