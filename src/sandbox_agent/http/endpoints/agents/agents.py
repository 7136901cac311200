"""`/v1/agents`: list the agents of the catalogue, show one, install one.

An install may take minutes. A client that accepts `text/event-stream` sees its progress. A client that
disconnects stops nothing; the next request for the same agent joins the install that is running.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox_agent import errors
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.http import problems, sse
from sandbox_agent.http.endpoints.agents.agent_bodies import (
    AgentInfo,
    AgentList,
    InstallRequest,
    InstallResult,
    ServerStatus,
)
from sandbox_agent.http.endpoints.agents.install_progress import InstallProgress
from sandbox_agent.http.json_body import encode, json_body, json_response
from sandbox_agent.http.messages import Request, Response, StreamingResponse
from sandbox_agent.http.openapi.operation import Content, Flag, Operation, PathParameter, ResponseSpec
from sandbox_agent.runtime import wall_clock

if TYPE_CHECKING:
    from sandbox_agent.agents.install.install_progress import Progress
    from sandbox_agent.agents.install.install_result import InstallResult as Installed
    from sandbox_agent.http.services import Services

_EVENT_STREAM = b"text/event-stream"
_AGENT = PathParameter("agent", "Id of an agent", "mock")
_CONFIG = Flag("config", "Also models, modes and versions", True)
_NO_CACHE = Flag("no_cache", "Look versions up anew", False)
_EXAMPLE = {
    "id": "mock",
    "name": "Mock",
    "installed": True,
    "credentialsAvailable": True,
    "capabilities": {name: name != "sharedProcess" for name in CAPABILITIES},
}


@Operation(
    id="listAgents",
    tag="agents",
    summary="List the known agents",
    parameters=[_CONFIG, _NO_CACHE],
    responses={
        200: ResponseSpec("All agents of the catalogue", [Content(AgentList, {"agents": [_EXAMPLE]})])
    },
)
async def list_agents(request: Request, services: Services) -> Response:
    config, no_cache = _CONFIG.read(request), _NO_CACHE.read(request)
    agents = await services.inventory.describe_all(config=config, no_cache=no_cache)
    statuses = _server_statuses(services)
    return json_response(AgentList([_agent_info(agent, statuses, services) for agent in agents]))


@Operation(
    id="getAgent",
    tag="agents",
    summary="Show one agent",
    parameters=[_AGENT, _CONFIG, _NO_CACHE],
    responses={200: ResponseSpec("The agent", [Content(AgentInfo, _EXAMPLE)])},
    errors=[errors.UnsupportedAgent],
)
async def show_agent(request: Request, services: Services) -> Response:
    config, no_cache = _CONFIG.read(request), _NO_CACHE.read(request)
    agent = await services.inventory.describe(request.path_params[0], config=config, no_cache=no_cache)
    return json_response(_agent_info(agent, _server_statuses(services), services))


@Operation(
    id="installAgent",
    tag="agents",
    summary="Install an agent",
    description=(
        "With `Accept: text/event-stream` the response is a stream of `progress` events that ends with one "
        "`result` or `error`."
    ),
    parameters=[_AGENT],
    body=Content(InstallRequest, {"reinstall": False}),
    responses={
        200: ResponseSpec(
            "Installed, now or before",
            [Content(InstallResult, InstallResult(True, [])), Content(str, media_type="text/event-stream")],
        )
    },
    errors=[
        errors.UnsupportedAgent,
        errors.AgentNotInstalled,
        errors.PayloadTooLarge,
        errors.UnsupportedMediaType,
        errors.InstallFailed,
    ],
)
async def install_agent(request: Request, services: Services) -> Response | StreamingResponse:
    body = await json_body(request, services, InstallRequest)
    options: dict[str, Any] = {
        "reinstall": bool(body.reinstall),
        "agent_version": body.agent_version,
        "agent_process_version": body.agent_process_version,
    }
    agent_id = request.path_params[0]
    services.catalog.get(agent_id)
    if _wants_stream(request):
        return StreamingResponse(200, list(sse.HEADERS), _progress_stream(services, agent_id, options))
    return json_response(InstallResult.of(await services.installer.install(agent_id, **options)))


def _wants_stream(request: Request) -> bool:
    accept = request.headers.get(b"accept", b"").lower().split(b",")
    return any(part.partition(b";")[0].strip() == _EVENT_STREAM for part in accept)


async def _progress_stream(
    services: Services, agent_id: str, options: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    """`progress` events, then one `result` or `error`; a comment after each heartbeat interval of silence."""
    reports: asyncio.Queue[Progress] = asyncio.Queue()
    install = asyncio.create_task(
        services.installer.install(agent_id, **options, progress=reports.put_nowait)
    )
    try:
        while not install.done() or not reports.empty():
            getting = asyncio.create_task(reports.get())
            await asyncio.wait(
                {getting, install}, timeout=services.heartbeat_s, return_when=asyncio.FIRST_COMPLETED
            )
            if getting.done():
                yield sse.event(b"progress", encode(InstallProgress.of(getting.result())))
                continue
            getting.cancel()
            if not install.done():
                yield sse.HEARTBEAT
        yield _outcome(install)
    finally:
        # This cancels one waiter; the install itself goes on for the other requests that wait for it.
        install.cancel()
        await asyncio.gather(install, return_exceptions=True)


def _outcome(install: asyncio.Task[Installed]) -> bytes:
    try:
        return sse.event(b"result", encode(InstallResult.of(install.result())))
    except errors.SandboxAgentError as error:
        return sse.event(b"error", problems.encode(error))


def _server_statuses(services: Services) -> dict[str, ServerStatus]:
    """Per agent with a listed instance: running since its oldest living one, or stopped."""
    now = wall_clock.now_ms()
    statuses: dict[str, ServerStatus] = {}
    for instance in services.instances:
        status = statuses.setdefault(instance.agent, ServerStatus("stopped", 0))
        if instance.status == "running":
            status.status = "running"
            status.uptime_ms = max(status.uptime_ms, now - instance.created_at_ms)
    return statuses


def _agent_info(
    described: dict[str, Any], statuses: Mapping[str, ServerStatus], services: Services
) -> AgentInfo:
    info = msgspec.convert(described, AgentInfo)
    if progress := services.install_progress(info.id):
        info.installing = InstallProgress.of(progress)
    if info.id in statuses:
        info.server_status = statuses[info.id]
    return info
