"""`/v1/tool-relays`: a client offers tools to the agent of one instance, and answers their calls.

The agent starts `sandbox-agent mcp-relay` as an MCP server. That command posts each line to `calls`, with the
ticket of the relay, and the client that reads the relay answers it. Bodies pass as they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http import sse
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import Request, Response, StreamingResponse, parse_number
from sandbox_agent.http.openapi.operation import (
    Content,
    HeaderParameter,
    Operation,
    PathParameter,
    RequiredText,
    ResponseSpec,
)
from sandbox_agent.runtime.server_executable import server_command

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.tool_relays.tool_relay import RelayReader
    from sandbox_agent.http.tool_relays.tool_relays import ToolRelays

TAG = "tool relays"
_RELAY_ID = PathParameter("relay_id", "An id that the client chooses", "tools-1")
_CALL = PathParameter("call", "`id` of the event with the call", "7")
_SERVER_ID = RequiredText("serverId", "The instance whose agent may use the tools", "review-42")
_LAST_EVENT_ID = HeaderParameter("Last-Event-ID", "Send the calls after this one", "7")
_PREFER = HeaderParameter("Prefer", "`respond-async`: the message has no answer", "respond-async")
_MESSAGE = Content(dict, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})


class ToolRelayInfo(msgspec.Struct, rename="camel"):
    """How the agent reaches the relay."""

    relay_id: str
    server_id: str
    command: Annotated[list[str], Meta(description="The MCP server on stdio, to be started in the sandbox")]
    path: Annotated[str, Meta(description="Where the command posts its calls")]
    ticket: Annotated[str, Meta(description="Valid for that path only, in place of the token")]
    url: Annotated[
        str | None, Meta(description="The server inside the sandbox; null if it does not know its address")
    ] = None


_INFO = Content(
    ToolRelayInfo,
    ToolRelayInfo(
        "tools-1",
        "review-42",
        ["/usr/bin/sandbox-agent", "mcp-relay"],
        "/v1/tool-relays/tools-1/calls",
        "5f1c...",
        "http://127.0.0.1:2468",
    ),
)


@Operation(
    id="openToolRelay",
    tag=TAG,
    summary="Open a relay for the tools of a client",
    description="A second request for the same id and instance gives the same relay, after a restart.",
    parameters=[_RELAY_ID, _SERVER_ID],
    responses={200: ResponseSpec("The relay", [_INFO])},
    errors=[errors.SessionNotFound, errors.NotFound, errors.Conflict],
)
async def open_relay(request: Request, services: Services) -> Response:
    path = request.raw_path + b"/calls"
    relay = _relays(services).open(request.path_params[0], _SERVER_ID.read(request), path)
    command = [*server_command(), "mcp-relay"]
    return json_response(
        ToolRelayInfo(
            relay.relay_id, relay.server_id, command, path.decode(), relay.ticket, services.local_url
        )
    )


@Operation(
    id="readToolCalls",
    tag=TAG,
    summary="The calls of the agent, as server-sent events",
    description=(
        "`event: call` has the number of the call in `id` and the message in `data`. Calls without an answer "
        "are sent again to a client that connects again. A new reader ends the one before it."
    ),
    parameters=[_RELAY_ID, _LAST_EVENT_ID],
    responses={200: ResponseSpec("The events", [Content(str, media_type="text/event-stream")])},
    errors=[errors.NotFound, errors.TooManyStreams],
)
async def read_calls(request: Request, services: Services) -> StreamingResponse:
    relay = _relays(services).get(request.path_params[0])
    after = _number(_LAST_EVENT_ID.read(request) or "0")
    services.streams.take()
    return StreamingResponse(200, list(sse.HEADERS), _CallStream(services, relay.open_reader(after)))


@Operation(
    id="answerToolCall",
    tag=TAG,
    summary="Answer a call",
    parameters=[_RELAY_ID, _CALL],
    body=_MESSAGE,
    responses={204: ResponseSpec("The agent has the answer")},
    errors=[errors.NotFound, errors.PayloadTooLarge],
)
async def answer_call(request: Request, services: Services) -> Response:
    relay_id, call = request.path_params
    body = await request.body(services.settings.max_message_bytes)
    _relays(services).get(relay_id).answer(_number(call), body)
    return Response(204)


@Operation(
    id="callTool",
    tag=TAG,
    summary="Pass a message of the agent to the client, and wait for the answer",
    description="For the command in the sandbox, with the ticket of the relay as the token.",
    parameters=[_RELAY_ID, _PREFER],
    body=_MESSAGE,
    responses={
        200: ResponseSpec("The answer of the client", [_MESSAGE]),
        202: ResponseSpec("The client will get the message"),
    },
    errors=[errors.NotFound, errors.StreamError, errors.PayloadTooLarge],
)
async def post_call(request: Request, services: Services) -> Response:
    relay = _relays(services).get(request.path_params[0])
    limit = services.settings.max_message_bytes
    length = parse_number(request.header(b"content-length") or "")
    with relay.arrival(limit if length is None else length):
        body = await request.body(limit)
    # One line, as in the stream of an instance.
    body = body.strip().replace(b"\r", b" ").replace(b"\n", b" ")
    if not body:
        raise InvalidRequest("the body is empty")
    if b"respond-async" in request.headers.get(b"prefer", b""):
        relay.notify(body)
        return Response(202)
    return Response.json(await request.while_connected(relay.call(body)))


@Operation(
    id="closeToolRelay",
    tag=TAG,
    summary="Close a relay; calls that wait fail at once",
    parameters=[_RELAY_ID],
    responses={204: ResponseSpec("Closed")},
    errors=[errors.NotFound],
)
async def close_relay(request: Request, services: Services) -> Response:
    relays = _relays(services)
    relays.close(relays.get(request.path_params[0]).relay_id)
    return Response(204)


def _relays(services: Services) -> ToolRelays:
    services.require_enabled("tool_relays")
    return services.tool_relays


def _number(text: str) -> int:
    number = parse_number(text)
    if number is None:
        raise InvalidRequest("the number of a call is a non-negative integer")
    return number


class _CallStream:
    """The pieces of the response. Not an async generator: its `finally` would not run before a first step."""

    def __init__(self, services: Services, reader: RelayReader) -> None:
        self._services = services
        self._reader = reader

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._reader.has_ended:
            try:
                async with asyncio.timeout(self._services.heartbeat_s):
                    calls = await self._reader.next_calls()
            except TimeoutError:
                return sse.HEARTBEAT
            if calls:
                return b"".join(b"event: call\nid: %d\ndata: %b\n\n" % call for call in calls)
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._reader.leave()
        self._services.streams.release()
