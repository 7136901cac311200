"""The endpoints of ACP's own remote transport over HTTP: `/acp`, and `/acp/{agent}`.

The agent in the path matters for `initialize` only; a client sends all requests of a connection to one path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http import sse
from sandbox_agent.http.acp_remote import operations
from sandbox_agent.http.acp_remote.remote_post import RemotePost
from sandbox_agent.http.acp_remote.sse_receiver import SseReceiver, find_stream
from sandbox_agent.http.messages import HeaderList, Receive, Request, Response, Send
from sandbox_agent.http.sinks.asgi_sink import AsgiSink

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services


@operations.POST_MESSAGE
async def post_message(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    body = await request.body(services.settings.max_message_bytes)
    agent = request.path_params[0] if request.path_params else None
    sink = AsgiSink()
    RemotePost(services, agent, request.raw_query, request.headers, sink, headers).handle(body)
    await sink.run(receive, send)


@operations.OPEN_STREAM
async def open_stream(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    connection, stream, after = find_stream(services, request.headers)
    if request.method == "HEAD":
        await send({"type": "http.response.start", "status": 200, "headers": [*sse.HEADERS, *headers]})
        await send({"type": "http.response.body", "body": b""})
        return
    sink = AsgiSink()
    SseReceiver(sink, services, connection, stream, after, headers)
    await sink.run(receive, send)


@operations.CLOSE_CONNECTION
async def close_connection(request: Request, services: Services) -> Response:
    await services.remote_connections.delete(request.headers)
    return Response(202)


@operations.POST_MESSAGE_TO_AGENT
async def post_message_to_agent(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    await post_message(request, services, headers, receive, send)


@operations.OPEN_STREAM_OF_AGENT
async def open_stream_of_agent(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    await open_stream(request, services, headers, receive, send)


@operations.CLOSE_CONNECTION_OF_AGENT
async def close_connection_of_agent(request: Request, services: Services) -> Response:
    return await close_connection(request, services)
