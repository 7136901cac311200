"""The agents of the house over HTTP: list them, look at one, install one.

An install may take minutes. A client that accepts `text/event-stream` sees its progress; one that goes away
stops nothing, and the next one that asks for the same joins the install that runs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox_agent.errors import InvalidRequest, SandboxAgentError, UnsupportedMediaType
from sandbox_agent.http import problems
from sandbox_agent.http.acp import sse
from sandbox_agent.http.messages import JSON, Request, Response, StreamingResponse

if TYPE_CHECKING:
    from sandbox_agent.agents.install.installer import InstallResult
    from sandbox_agent.agents.install.progress import Progress
    from sandbox_agent.http.services import Services

_EVENT_STREAM = b"text/event-stream"
_encode = msgspec.json.Encoder().encode


async def list_agents(request: Request, services: Services) -> Response:
    config, no_cache = request.query.flag("config"), request.query.flag("no_cache")
    agents = await services.inventory.describe_all(config=config, no_cache=no_cache)
    statuses = _server_statuses(services)
    return Response.json(_encode({"agents": [_with_status(agent, statuses) for agent in agents]}))


async def show_agent(request: Request, services: Services) -> Response:
    config, no_cache = request.query.flag("config"), request.query.flag("no_cache")
    agent = await services.inventory.describe(request.path_params[0], config=config, no_cache=no_cache)
    return Response.json(_encode(_with_status(agent, _server_statuses(services))))


async def install_agent(request: Request, services: Services) -> Response | StreamingResponse:
    if request.media_type != JSON:
        raise UnsupportedMediaType("content-type must be application/json")
    options = _install_options(await request.body(services.settings.max_json_bytes))
    agent_id = request.path_params[0]
    services.catalog.get(agent_id)
    if _wants_stream(request):
        return StreamingResponse(200, list(sse.HEADERS), _progress_stream(services, agent_id, options))
    result = await services.installer.install(agent_id, **options)
    return Response.json(_encode(result.document()))


class _InstallBody(msgspec.Struct, rename="camel"):
    reinstall: bool | None = None
    agent_version: str | None = None
    agent_process_version: str | None = None


def _install_options(body: bytes) -> dict[str, Any]:
    try:
        wanted = msgspec.json.decode(body, type=_InstallBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"invalid JSON body: {error}") from None
    return {
        "reinstall": bool(wanted.reinstall),
        "agent_version": wanted.agent_version,
        "agent_process_version": wanted.agent_process_version,
    }


def _wants_stream(request: Request) -> bool:
    accept = request.headers.get(b"accept", b"").lower().split(b",")
    return any(part.partition(b";")[0].strip() == _EVENT_STREAM for part in accept)


async def _progress_stream(
    services: Services, agent_id: str, options: Mapping[str, Any]
) -> AsyncIterator[bytes]:
    """`progress` events, then one `result` or `error`; a comment when there is nothing to say for long."""
    news: asyncio.Queue[Progress] = asyncio.Queue()
    install = asyncio.create_task(services.installer.install(agent_id, **options, progress=news.put_nowait))
    try:
        while not install.done() or not news.empty():
            getting = asyncio.create_task(news.get())
            await asyncio.wait(
                {getting, install}, timeout=services.heartbeat_s, return_when=asyncio.FIRST_COMPLETED
            )
            if getting.done():
                yield _event("progress", _progress(getting.result()))
                continue
            getting.cancel()
            if not install.done():
                yield sse.HEARTBEAT
        yield _outcome(install)
    finally:
        # Only the watching ends: whoever else waits for this install still gets it.
        install.cancel()
        await asyncio.gather(install, return_exceptions=True)


def _outcome(install: asyncio.Task[InstallResult]) -> bytes:
    try:
        return _event("result", install.result().document())
    except SandboxAgentError as error:
        return b"event: error\ndata: %b\n\n" % problems.encode(error)


def _event(name: str, document: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), _encode(document))


def _progress(progress: Progress) -> dict[str, Any]:
    document: dict[str, Any] = {"step": progress.step, "message": progress.message, "bytes": progress.bytes}
    return document if progress.percent is None else document | {"percent": progress.percent}


def _server_statuses(services: Services) -> dict[str, dict[str, Any]]:
    """Per agent with a listed instance: running since its oldest living one, or stopped."""
    now = int(time.time() * 1000)
    statuses: dict[str, dict[str, Any]] = {}
    for instance in services.instances:
        status = statuses.setdefault(instance.agent, {"status": "stopped", "uptimeMs": 0})
        if instance.status == "running":
            uptime = max(0, now - instance.created_at_ms)
            status.update(status="running", uptimeMs=max(uptime, status["uptimeMs"]))
    return statuses


def _with_status(agent: dict[str, Any], statuses: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """`serverStatus` has its place behind `capabilities`."""
    status = statuses.get(agent["id"])
    if status is None:
        return agent
    keys = list(agent)
    after = keys.index("capabilities") + 1
    head, tail = keys[:after], keys[after:]
    return {key: agent[key] for key in head} | {"serverStatus": status} | {key: agent[key] for key in tail}
