"""OpenAPI declarations of the ACP transport; each decorates its handler in `asgi_handlers.py`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.http.acp.bodies import AcpServer, AcpServers
from sandbox_agent.http.openapi.operation import (
    Content,
    HeaderParameter,
    Operation,
    OptionalText,
    PathParameter,
    RequiredText,
    ResponseSpec,
)

_Message = Annotated[
    dict[str, Any],
    Meta(description="One JSON-RPC 2.0 object: request, notification or response. Forwarded byte for byte."),
]
_INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
SERVER_ID = PathParameter(
    "server_id",
    "Chosen by the client, any text up to 1024 bytes; the only identity of an agent process",
    "my-session",
)
_EVENTS = """\
Server-sent events. `event: message` carries one JSON-RPC object of the agent and a number in `id:`; numbers
start at 1 and have no gaps. `event: gap` says that older events are no longer kept. A comment is sent after
15 s of silence."""
_LINKS = {
    name: {"operationId": name, "parameters": {"path.server_id": "$request.path.server_id"}}
    for name in ("postAcpMessage", "streamAcpEvents", "closeAcpServer")
}

SERVER_ID_QUERY = OptionalText(
    "serverId", "Only this process; the list is empty if there is none", "my-session"
)

LIST_SERVERS = Operation(
    id="listAcpServers",
    tag="acp",
    summary="List the agent processes, or one of them",
    parameters=[SERVER_ID_QUERY],
    responses={
        200: ResponseSpec(
            "Everything that was started and not closed, sorted by id",
            [
                Content(
                    AcpServers,
                    AcpServers(
                        [
                            AcpServer(
                                server_id="my-session",
                                agent="mock",
                                created_at_ms=1767322800000,
                                status="running",
                                pid=4242,
                                pending_requests=0,
                                last_event_id=12,
                                subscribers=1,
                                last_activity_ms=1767322805000,
                            )
                        ]
                    ),
                )
            ],
        )
    },
)

POST_MESSAGE = Operation(
    id="postAcpMessage",
    tag="acp",
    summary="Send one message to the agent",
    description=(
        "The first message to a new id names the `agent`, which is installed and started if necessary. A "
        "request waits for its response; notifications and responses are accepted at once."
    ),
    parameters=[
        SERVER_ID,
        OptionalText("agent", "Required on the first POST to an id", "mock"),
        OptionalText("cwd", "Working directory of the process when this POST starts it"),
        HeaderParameter(
            "Prefer",
            "`respond-async`: 202 at once, the response only as an event. `wait=SECONDS`: own time limit",
            "wait=600",
        ),
        HeaderParameter(
            "Idempotency-Key",
            "Chosen by the client for this message. A repetition with the same key is 202 and not forwarded",
            "5f2c-17",
        ),
        HeaderParameter(
            "X-Sandbox-Agent-Env",
            "Further environment of the process when this POST starts it: a JSON object of strings",
            '{"EDITOR":"true"}',
        ),
    ],
    body=Content(_Message, _INITIALIZE),
    responses={
        200: ResponseSpec(
            "The agent's response, byte for byte; an error of the agent is in here too",
            [Content(_Message, {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})],
            links=_LINKS,
        ),
        202: ResponseSpec("Written to the agent", links=_LINKS),
    },
    errors=[
        errors.UnsupportedAgent,
        errors.SessionNotFound,
        errors.AgentNotInstalled,
        errors.NotAcceptable,
        errors.Conflict,
        errors.PayloadTooLarge,
        errors.UnsupportedMediaType,
        errors.InstallFailed,
        errors.AgentProcessExited,
        errors.StreamError,
        errors.TooManyInstances,
        errors.Timeout,
    ],
)

INCLUDE = OptionalText(
    "include",
    "Further events, with commas. `client`: what clients have posted (`event: client` with number, "
    "`after`, `timeMs` and message; `event: client-gap` for those no longer kept). `time`: when the "
    "messages were published (`event: time`: those up to `number` since the last one)",
    "client,time",
)

OPEN_STREAM = Operation(
    id="streamAcpEvents",
    tag="acp",
    summary="Follow the messages of the agent",
    description=_EVENTS,
    parameters=[
        SERVER_ID,
        INCLUDE,
        OptionalText("clientAfter", "Number of the last `event: client` seen", "3"),
        HeaderParameter(
            "Last-Event-ID",
            "Number of the last event seen; without it everything retained is sent first",
            "12",
        ),
    ],
    responses={
        200: ResponseSpec("Events until the id is closed", [Content(str, media_type="text/event-stream")])
    },
    errors=[errors.SessionNotFound, errors.NotAcceptable, errors.TooManyStreams],
)

OPEN_EVENTS = Operation(
    id="streamEvents",
    tag="acp",
    summary="Follow the messages of several agents in one stream",
    description="""\
Server-sent events as those of one server. `event: server` with `{"serverId": ...}` comes before the first
event of each run from one server: what follows belongs to it, numbers and gaps included. `event: end` says
that a server is closed or does not exist. The stream ends with its last server. Off with `--events off`.""",
    parameters=[
        RequiredText(
            "servers",
            "Server ids, separated by commas, each alone or with a colon and the number of its last event, "
            "and with `include=client` another colon and the number of the last `event: client`. "
            "`,`, `:` and `%` of an id are percent-encoded",
            "my-session:12,other",
        ),
        INCLUDE,
    ],
    responses={
        200: ResponseSpec(
            "Events until the last server is closed", [Content(str, media_type="text/event-stream")]
        )
    },
    errors=[errors.NotFound, errors.NotAcceptable, errors.TooManyStreams],
)

CLOSE_SERVER = Operation(
    id="closeAcpServer",
    tag="acp",
    summary="End the agent and all its processes",
    parameters=[SERVER_ID],
    responses={204: ResponseSpec("Closed, now or before")},
    errors=[errors.SessionNotFound],
)
