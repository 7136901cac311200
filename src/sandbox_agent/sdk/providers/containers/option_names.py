"""The keyword arguments of `docker()` and `podman()`: the fields of `ContainerOptions` beside the image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict


class ContainerOptionNames(TypedDict, total=False):
    bundle: str | None
    env: Mapping[str, str]
    args: Sequence[str]
    memory_mb: int | None
    cpus: float | None
    pids: int | None
    network: str | None
    by_address: bool
    mounts: Mapping[str, str]
    user: str | None
    workdir: str | None
    runtime: str | None
    labels: Mapping[str, str]
    pull: bool
    detached: bool
    lease_s: int
    start_timeout_s: float
    publish_address: str
    host_config: Mapping[str, Any]
