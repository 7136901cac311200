"""Start, list, stop, kill and delete processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import errors
from sandbox_agent.http.endpoints.processes.bodies import (
    Owner,
    ProcessCreateRequest,
    ProcessInfo,
    ProcessList,
)
from sandbox_agent.http.endpoints.processes.requested_process import (
    ERRORS,
    PROCESS_ID,
    START_ERRORS,
    TAG,
    find_process,
    launch_of,
    process_registry,
)
from sandbox_agent.http.json_body import json_body, json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Choice, Content, Flag, Number, Operation, ResponseSpec
from sandbox_agent.terminals.launch import TerminalSize

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_STOP_WAIT_MS, _KILL_WAIT_MS = 2000, 1000
_MAX_WAIT_MS = 3_600_000
_OWNER = Choice("owner", "Only processes of this owner; those of the API belong to `user`", "user", Owner)
_WAIT_MS = Number("waitMs", "How long the answer waits for the exit (stop: 2000, kill: 1000)", 500)
_ESCALATE = Flag("escalate", "Kill the tree if it has not ended after `waitMs`", True)
_INFO = ProcessInfo(
    id="proc_1",
    command="sh",
    args=["-c", "exit 3"],
    tty=False,
    interactive=False,
    status="exited",
    exit_code=3,
    created_at_ms=1_794_897_698_729,
    exited_at_ms=1_794_897_698_731,
)
_OK = {200: ResponseSpec("The process", [Content(ProcessInfo, _INFO)])}


@Operation(
    id="listProcesses",
    tag=TAG,
    summary="All processes, in the order of their start",
    parameters=[_OWNER],
    responses={200: ResponseSpec("Running and exited ones", [Content(ProcessList, ProcessList([_INFO]))])},
    errors=ERRORS,
)
async def list_processes(request: Request, services: Services) -> Response:
    registry, owner = process_registry(services), _OWNER.read(request)
    found = [] if owner in ("desktop", "system") else [ProcessInfo.of(managed) for managed in registry]
    return json_response(ProcessList(found))


@Operation(
    id="createProcess",
    tag=TAG,
    summary="Start a process, with pipes or in a terminal",
    description="It stays in the list until it is deleted; of exited ones the newest 256 are kept.",
    body=Content(ProcessCreateRequest, ProcessCreateRequest(command="bash", tty=True)),
    responses=_OK,
    errors=[*START_ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
)
async def create_process(request: Request, services: Services) -> Response:
    registry = process_registry(services)
    wanted = await json_body(request, services, ProcessCreateRequest)
    size = TerminalSize(wanted.cols, wanted.rows) if wanted.tty else None
    launch = await launch_of(wanted, services, size)
    return json_response(ProcessInfo.of(registry.create(launch, wanted.cwd, wanted.interactive)))


@Operation(
    id="getProcess",
    tag=TAG,
    summary="One process",
    parameters=[PROCESS_ID],
    responses=_OK,
    errors=ERRORS,
)
async def get_process(request: Request, services: Services) -> Response:
    return json_response(ProcessInfo.of(find_process(services, request.path_params[0])))


@Operation(
    id="stopProcess",
    tag=TAG,
    summary="Ask a process to end: SIGTERM, for a terminal SIGHUP too",
    description="When it has exited, what is left of its tree is killed.",
    parameters=[PROCESS_ID, _WAIT_MS, _ESCALATE],
    responses=_OK,
    errors=ERRORS,
)
async def stop_process(request: Request, services: Services) -> Response:
    managed = find_process(services, request.path_params[0])
    wait_s, escalate = _wait_s(request, _STOP_WAIT_MS), _ESCALATE.read(request)
    await services.processes.stop(managed, wait_s, escalate=escalate)
    return json_response(ProcessInfo.of(managed))


@Operation(
    id="killProcess",
    tag=TAG,
    summary="Kill a process and its whole tree: SIGKILL",
    parameters=[PROCESS_ID, _WAIT_MS],
    responses=_OK,
    errors=ERRORS,
)
async def kill_process(request: Request, services: Services) -> Response:
    managed = find_process(services, request.path_params[0])
    await services.processes.kill(managed, _wait_s(request, _KILL_WAIT_MS))
    return json_response(ProcessInfo.of(managed))


@Operation(
    id="deleteProcess",
    tag=TAG,
    summary="Forget an exited process and its log",
    description="What it has left behind is killed, and streams of its log end.",
    parameters=[PROCESS_ID],
    responses={204: ResponseSpec("Forgotten")},
    errors=[*ERRORS, errors.Conflict],
)
async def delete_process(request: Request, services: Services) -> Response:
    process_registry(services).delete(request.path_params[0])
    return Response(204)


def _wait_s(request: Request, default_ms: int) -> float:
    wait_ms = _WAIT_MS.read(request)
    return min(default_ms if wait_ms is None else wait_ms, _MAX_WAIT_MS) / 1000
