"""Bodies of `GET /v1/acp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox_agent.http.endpoints.agents.install_progress import InstallProgress

if TYPE_CHECKING:
    from sandbox_agent.bridge.instance import Instance

Count = Annotated[int, Meta(ge=0)]


class AcpServer(msgspec.Struct, rename="camel", kw_only=True):
    """One agent process.

    `installing` is present while the agent is installed first, `exitCode` or `signal` after an exit.
    """

    server_id: str
    agent: str
    created_at_ms: Count
    status: Literal["starting", "running", "exited"]
    installing: InstallProgress | UnsetType = UNSET
    pid: int | None
    exit_code: int | UnsetType = UNSET
    signal: str | UnsetType = UNSET
    pending_requests: Count
    last_event_id: Count
    subscribers: Count
    last_activity_ms: Count

    @classmethod
    def of(cls, instance: Instance) -> AcpServer:
        ended = instance.exit if instance.status == "exited" else None
        return cls(
            server_id=instance.server_id,
            agent=instance.agent,
            created_at_ms=instance.created_at_ms,
            status=instance.status,
            pid=instance.pid,
            exit_code=UNSET if ended is None or ended.code is None else ended.code,
            signal=UNSET if ended is None or ended.signal is None else ended.signal,
            pending_requests=instance.pending_requests,
            last_event_id=instance.log.last,
            subscribers=instance.log.subscribers,
            last_activity_ms=instance.last_activity_ms,
        )


class WarmAgent(msgspec.Struct, rename="camel", kw_only=True):
    """A process of `--warm` that waits for its first message. `memoryBytes`: resident memory of its tree."""

    agent: str
    pid: int
    cwd: str
    started_at_ms: Count
    memory_bytes: Count


class AcpServers(msgspec.Struct):
    """Every agent process that was started and not closed, sorted by id.

    `warm` is present with `--warm`: processes that no instance has taken yet.
    """

    servers: list[AcpServer]
    warm: list[WarmAgent] | UnsetType = UNSET
