"""Descriptions of the ACP transport."""

from __future__ import annotations

from sandbox_agent import errors
from sandbox_agent.http.openapi.operations.operation import Answer, Content, Operation, Parameter

_SERVER_ID = {
    "server_id": ("Chosen by the client, any text up to 1024 bytes; the only identity there is", "my-session")
}
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_MESSAGE = {
    "type": "object",
    "description": "One JSON-RPC 2.0 object: request, notification or response. Forwarded byte for byte.",
}
_INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
_SERVER = {
    "type": "object",
    "properties": {
        "serverId": _TEXT,
        "agent": _TEXT,
        "createdAtMs": _COUNT,
        "status": {"enum": ["starting", "running", "exited"]},
        "pid": {"type": ["integer", "null"]},
        "exitCode": {"type": "integer"},
        "signal": _TEXT,
        "pendingRequests": _COUNT,
        "lastEventId": _COUNT,
        "subscribers": _COUNT,
        "lastActivityMs": _COUNT,
    },
    "required": [
        "serverId",
        "agent",
        "createdAtMs",
        "status",
        "pid",
        "pendingRequests",
        "lastEventId",
        "subscribers",
        "lastActivityMs",
    ],
}
_EVENTS = """\
Server-sent events. `event: message` carries one JSON-RPC object of the agent and a number in `id:`; numbers
start at 1 and have no gaps. `event: gap` says that older events are no longer kept. A comment is sent after
15 s of silence."""

_NEXT = {
    name: {"operationId": name, "parameters": {"path.server_id": "$request.path.server_id"}}
    for name in ("postAcpMessage", "streamAcpEvents", "closeAcpServer")
}

OPERATIONS = {
    ("GET", "/v1/acp"): Operation(
        id="listAcpServers",
        tag="acp",
        summary="List the agent processes",
        answers={
            200: Answer(
                "Everything that was started and not closed, sorted by id",
                [
                    Content(
                        {
                            "type": "object",
                            "properties": {"servers": {"type": "array", "items": _SERVER}},
                            "required": ["servers"],
                        },
                        {
                            "servers": [
                                {
                                    "serverId": "my-session",
                                    "agent": "mock",
                                    "createdAtMs": 1767322800000,
                                    "status": "running",
                                    "pid": 4242,
                                    "pendingRequests": 0,
                                    "lastEventId": 12,
                                    "subscribers": 1,
                                    "lastActivityMs": 1767322805000,
                                }
                            ]
                        },
                    )
                ],
            )
        },
    ),
    ("POST", "/v1/acp/{server_id}"): Operation(
        id="postAcpMessage",
        tag="acp",
        summary="Send one message to the agent",
        description=(
            "The first message to a new id names the `agent`, which is installed and started if need be. A "
            "request waits for its answer; notifications and responses are accepted at once."
        ),
        path_parameters=_SERVER_ID,
        parameters=[
            Parameter("agent", "Needed on the first POST to an id", example="mock"),
            Parameter("cwd", "Working directory of the process when this POST starts it"),
            Parameter(
                "Prefer",
                "`respond-async`: 202 at once, the answer only as an event. `wait=SECONDS`: own time limit",
                where="header",
                example="wait=600",
            ),
            Parameter(
                "X-Sandbox-Agent-Env",
                "Further environment of the process when this POST starts it: a JSON object of strings",
                where="header",
                example='{"EDITOR":"true"}',
            ),
        ],
        body=[Content(_MESSAGE, _INITIALIZE)],
        answers={
            200: Answer(
                "The agent's answer, byte for byte; an error of the agent is in here too",
                [Content(_MESSAGE, {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})],
                links=_NEXT,
            ),
            202: Answer("Written to the agent", links=_NEXT),
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
    ),
    ("GET", "/v1/acp/{server_id}"): Operation(
        id="streamAcpEvents",
        tag="acp",
        summary="Follow what the agent says",
        description=_EVENTS,
        path_parameters=_SERVER_ID,
        parameters=[
            Parameter(
                "Last-Event-ID",
                "Number of the last event seen; without it everything retained is sent first",
                where="header",
                example="12",
            )
        ],
        answers={
            200: Answer("Events until the id is closed", [Content(_TEXT, media_type="text/event-stream")])
        },
        errors=[errors.SessionNotFound, errors.NotAcceptable, errors.TooManyStreams],
    ),
    ("DELETE", "/v1/acp/{server_id}"): Operation(
        id="closeAcpServer",
        tag="acp",
        summary="End the agent and all its processes",
        path_parameters=_SERVER_ID,
        answers={204: Answer("Closed, now or before")},
        errors=[errors.SessionNotFound],
    ),
}
