"""The ACP endpoints of the ASGI application; the work is done in `post` and `stream`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree.tree_usage import tree_usages
from sandbox_agent.http import sse
from sandbox_agent.http.acp import operations, post, stream
from sandbox_agent.http.acp.bodies import AcpServer, AcpServers, WarmAgent
from sandbox_agent.http.acp.multiplexed import open_sources
from sandbox_agent.http.acp.post_options import PostOptions
from sandbox_agent.http.acp.reply import PostReply
from sandbox_agent.http.endpoints.agents.install_progress import InstallProgress
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import HeaderList, Receive, Request, Response, Send
from sandbox_agent.http.sinks.asgi_sink import AsgiSink

if TYPE_CHECKING:
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.http.services import Services


@operations.LIST_SERVERS
async def list_instances(request: Request, services: Services) -> Response:
    wanted = operations.SERVER_ID_QUERY.read(request)
    instances = services.instances if wanted is None else services.instances.find(wanted)
    servers = AcpServers([_server(instance, services) for instance in instances])
    if services.settings.warm and wanted is None:
        servers.warm = await _warm_agents(services)
    return json_response(servers)


def _server(instance: Instance, services: Services) -> AcpServer:
    server = AcpServer.of(instance)
    if instance.status == "starting" and (progress := services.install_progress(instance.agent)):
        server.installing = InstallProgress.of(progress)
    return server


async def _warm_agents(services: Services) -> list[WarmAgent]:
    waiting = services.instances.warm_processes
    tags = [warm.process.tag for warm in waiting]
    usages = await asyncio.to_thread(tree_usages, tags) if tags else {}
    return [
        WarmAgent(
            agent=warm.agent,
            pid=warm.process.pid,
            cwd=warm.spec.cwd,
            started_at_ms=warm.started_at_ms,
            memory_bytes=usages[warm.process.tag].memory_bytes,
        )
        for warm in waiting
    ]


@operations.CLOSE_SERVER
async def close_instance(request: Request, services: Services) -> Response:
    await services.instances.close(request.path_params[0])
    return Response(204)


@operations.POST_MESSAGE
async def post_message(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    body = await request.body(services.settings.max_message_bytes)
    options = PostOptions(request.raw_query, request.headers)
    sink = AsgiSink()
    post.handle(services, request.path_params[0], options, body, PostReply(sink, headers))
    # A client that leaves cancels nothing: the call goes on without a reader of its answer.
    await sink.run(receive, send)


@operations.OPEN_STREAM
async def open_stream(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    source = stream.open_source(services, request.path_params[0], request.headers, request.raw_query)
    await _stream([source], request, services, headers, receive, send)


@operations.OPEN_EVENTS
async def open_events(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    sources = open_sources(services, request.raw_query, request.headers)
    await _stream(sources, request, services, headers, receive, send)


async def _stream(
    sources: list[stream.Source],
    request: Request,
    services: Services,
    headers: HeaderList,
    receive: Receive,
    send: Send,
) -> None:
    if request.method == "HEAD":
        await send({"type": "http.response.start", "status": 200, "headers": [*sse.HEADERS, *headers]})
        await send({"type": "http.response.body", "body": b""})
        return
    sink = AsgiSink()
    stream.StreamPump(sink, services, sources, headers)
    await sink.run(receive, send)
