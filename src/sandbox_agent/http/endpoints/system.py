"""`GET /v1/system`: CPU, memory and disk of the sandbox, and the share of each process tree.

CPU times are counters: two requests give a rate. The server keeps no history.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.bridge.process.tree.tree_usage import TreeUsage, tree_usages
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec
from sandbox_agent.runtime import machine_usage, wall_clock

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]


class SystemCpu(msgspec.Struct, rename="camel"):
    limit: Annotated[float, Meta(ge=0, description="Processors that may be used")]
    busy_seconds: Annotated[float, Meta(ge=0, description="A counter; the difference of two is a rate")]
    load_average: Annotated[list[float], Meta(description="Of 1, 5 and 15 minutes")]


class SystemSpace(msgspec.Struct, rename="camel"):
    total_bytes: Count
    available_bytes: Count


class SystemTree(msgspec.Struct, rename="camel", kw_only=True):
    """The process tree of an instance."""

    server_id: str
    agent: str
    pid: int
    processes: Count
    memory_bytes: Count
    cpu_seconds: Seconds


class SystemProcess(msgspec.Struct, rename="camel", kw_only=True):
    """The tree of a process or terminal of `/v1/processes`."""

    process_id: str
    command: str
    pid: Annotated[int, Meta(description="Of the process itself, which may have exited")]
    processes: Count
    memory_bytes: Count
    cpu_seconds: Seconds


class SystemServer(msgspec.Struct, rename="camel"):
    pid: int
    memory_bytes: Count
    cpu_seconds: Seconds


class SystemInfo(msgspec.Struct, rename="camel", kw_only=True):
    time_ms: Annotated[int, Meta(ge=0, description="When it was measured")]
    cpu: SystemCpu
    memory: SystemSpace
    disk: Annotated[SystemSpace, Meta(description="Of the home directory, or of --fs-root")]
    server: SystemServer
    instances: list[SystemTree]
    processes: list[SystemProcess]


@Operation(
    id="getSystem",
    tag="server",
    summary="Show CPU, memory and disk of the sandbox and of each process tree",
    responses={
        200: ResponseSpec(
            "What is used now",
            [
                Content(
                    SystemInfo,
                    SystemInfo(
                        time_ms=1767323045678,
                        cpu=SystemCpu(2.0, 812.5, [0.4, 0.3, 0.2]),
                        memory=SystemSpace(8_000_000_000, 5_000_000_000),
                        disk=SystemSpace(100_000_000_000, 60_000_000_000),
                        server=SystemServer(41, 18_000_000, 1.5),
                        instances=[],
                        processes=[],
                    ),
                )
            ],
        )
    },
    errors=[errors.NotFound],
)
async def show_system(request: Request, services: Services) -> Response:
    services.require_enabled("system")
    trees = {
        instance.process.tag: instance for instance in services.instances if instance.process is not None
    }
    started = {managed.process.tag: managed for managed in services.started_processes}
    # In a thread: it reads /proc, and the file system may be slow.
    measured, usages = await asyncio.to_thread(_measure, services.workspace.absolute(""), [*trees, *started])
    measured.instances = [
        SystemTree(
            server_id=instance.server_id,
            agent=instance.agent,
            pid=instance.process.pid,
            processes=usages[tag].processes,
            memory_bytes=usages[tag].memory_bytes,
            cpu_seconds=usages[tag].cpu_s,
        )
        for tag, instance in trees.items()
        if instance.process is not None
    ]
    measured.processes = [
        SystemProcess(
            process_id=managed.id,
            command=managed.command,
            pid=managed.process.pid,
            processes=usages[tag].processes,
            memory_bytes=usages[tag].memory_bytes,
            cpu_seconds=usages[tag].cpu_s,
        )
        for tag, managed in started.items()
        if usages[tag].processes
    ]
    return json_response(measured)


def _measure(directory: str, tags: list[int]) -> tuple[SystemInfo, dict[int, TreeUsage]]:
    own = TreeUsage([os.getpid()])
    try:
        disk = machine_usage.disk(directory)
    except OSError:
        disk = (0, 0)
    info = SystemInfo(
        time_ms=wall_clock.now_ms(),
        cpu=SystemCpu(machine_usage.cpu_limit(), machine_usage.busy_cpu_s(), list(os.getloadavg())),
        memory=SystemSpace(*machine_usage.memory()),
        disk=SystemSpace(*disk),
        server=SystemServer(os.getpid(), own.memory_bytes, own.cpu_s),
        instances=[],
        processes=[],
    )
    return info, tree_usages(tags) if tags else {}
