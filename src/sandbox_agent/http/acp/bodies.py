"""Bodies of `GET /v1/acp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

if TYPE_CHECKING:
    from sandbox_agent.bridge.instance import Instance

Count = Annotated[int, Meta(ge=0)]


class AcpServer(msgspec.Struct, rename="camel", kw_only=True):
    """One agent process. `exitCode` or `signal` is present only after it has exited."""

    server_id: str
    agent: str
    created_at_ms: Count
    status: Literal["starting", "running", "exited"]
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


class AcpServers(msgspec.Struct):
    """Every agent process that was started and not closed, sorted by id."""

    servers: list[AcpServer]
