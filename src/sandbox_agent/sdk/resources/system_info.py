"""What `client.system()` returns."""

from __future__ import annotations

import msgspec

from sandbox_agent.sdk.transport.http_api import HttpApi


class SystemCpu(msgspec.Struct, rename="camel", frozen=True):
    """`limit` processors may be used; `busy_seconds` is a counter."""

    limit: float
    busy_seconds: float
    load_average: list[float]


class SystemSpace(msgspec.Struct, rename="camel", frozen=True):
    total_bytes: int
    available_bytes: int


class SystemTree(msgspec.Struct, rename="camel", frozen=True):
    """The process tree of an instance."""

    server_id: str
    agent: str
    pid: int
    processes: int
    memory_bytes: int
    cpu_seconds: float


class SystemProcess(msgspec.Struct, rename="camel", frozen=True):
    """The tree of a process or terminal of a user; `pid` is the process itself, which may have exited."""

    process_id: str
    command: str
    pid: int
    processes: int
    memory_bytes: int
    cpu_seconds: float


class SystemServer(msgspec.Struct, rename="camel", frozen=True):
    pid: int
    memory_bytes: int
    cpu_seconds: float


class SystemInfo(msgspec.Struct, rename="camel", frozen=True):
    """CPU, memory and disk of the sandbox, and what each process tree uses of them."""

    time_ms: int
    cpu: SystemCpu
    memory: SystemSpace
    disk: SystemSpace
    server: SystemServer
    instances: list[SystemTree]
    processes: list[SystemProcess] = []
    """Empty from an older server."""


async def get_system(api: HttpApi) -> SystemInfo:
    """The answer of `GET /v1/system`."""
    answer = await api.request("GET", "/v1/system")
    return msgspec.json.decode(answer.content, type=SystemInfo)
