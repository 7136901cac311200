"""The ACP endpoints of the ASGI application: thin, because the work is in acp_post and acp_stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.acp import operations, post, sse, stream
from sandbox_agent.http.acp.bodies import AcpServer, AcpServers
from sandbox_agent.http.acp.post_options import PostOptions
from sandbox_agent.http.acp.reply import Reply
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import JSON, HeaderList, Message, Receive, Request, Response, Send

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services


@operations.LIST_SERVERS
async def list_instances(request: Request, services: Services) -> Response:
    return json_response(AcpServers([AcpServer.of(instance) for instance in services.instances]))


@operations.CLOSE_SERVER
async def close_instance(request: Request, services: Services) -> Response:
    await services.instances.close(request.path_params[0])
    return Response(204)


class _QueuedReply(Reply):
    """A reply that turns into ASGI messages."""

    def __init__(self, headers: HeaderList) -> None:
        self._headers = headers
        self.messages: asyncio.Queue[Message] = asyncio.Queue()

    def _start(self, status: int, headers: HeaderList) -> None:
        message = {"type": "http.response.start", "status": status, "headers": [*headers, *self._headers]}
        self.messages.put_nowait(message)

    def _respond(self, response: Response) -> None:
        self._start(response.status, response.head("POST"))
        self.messages.put_nowait({"type": "http.response.body", "body": response.body})

    def answer(self, body: bytes) -> None:
        if self.announced:
            self.messages.put_nowait({"type": "http.response.body", "body": body})
        else:
            self._respond(Response.json(body))

    def accept(self) -> None:
        self._respond(Response(202))

    def refuse(self, error: SandboxAgentError) -> None:
        self._respond(problems.response(error))

    def announce(self) -> None:
        self._start(200, [(b"content-type", JSON)])

    def blank(self) -> None:
        self.messages.put_nowait({"type": "http.response.body", "body": b" ", "more_body": True})


@operations.POST_MESSAGE
async def post_message(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    body = await request.body(services.settings.max_message_bytes)
    reply = _QueuedReply(headers)
    server_id = request.path_params[0]
    post.handle(services, server_id, PostOptions(request.raw_query, request.headers), body, reply)
    # A client that leaves cancels nothing: the call goes on, only nobody listens here any more.
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        while True:
            next_message = asyncio.ensure_future(reply.messages.get())
            await asyncio.wait([next_message, gone], return_when=asyncio.FIRST_COMPLETED)
            if not next_message.done():
                next_message.cancel()
                return
            message = next_message.result()
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                return
    finally:
        gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@operations.OPEN_STREAM
async def open_stream(
    request: Request, services: Services, headers: HeaderList, receive: Receive, send: Send
) -> None:
    log, last_event_id = stream.open_log(services, request.path_params[0], request.headers)
    if request.method == "HEAD":
        await send({"type": "http.response.start", "status": 200, "headers": [*sse.HEADERS, *headers]})
        await send({"type": "http.response.body", "body": b""})
        return
    await stream.serve(services, log, last_event_id, headers, receive, send)
