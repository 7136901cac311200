"""OpenAPI declarations of ACP's own remote transport; each decorates its handler in `asgi_handlers.py`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.http.openapi.operation import (
    Content,
    HeaderParameter,
    Operation,
    OptionalText,
    Parameter,
    PathParameter,
    ResponseSpec,
)

_Message = Annotated[
    dict[str, Any],
    Meta(description="One JSON-RPC 2.0 object: request, notification or response. Forwarded byte for byte."),
]
_CONNECTION = HeaderParameter(
    "Acp-Connection-Id", "The connection, as the answer to `initialize` named it; not with `initialize`"
)
_SESSION = HeaderParameter(
    "Acp-Session-Id",
    "The session of the message or stream. A message may leave it out: then `params.sessionId` counts, or "
    "the request that is answered",
)
_LAST_EVENT_ID = HeaderParameter(
    "Last-Event-ID", "`id:` of the last event seen on this stream; takes over a stream that has a receiver"
)
_AGENT_IN_PATH = PathParameter("agent", "The agent that `initialize` starts", "mock")
_AGENT_IN_QUERY = OptionalText(
    "agent", "The agent that `initialize` starts; without it that of `--default-agent`", "mock"
)
_STARTED = {"Acp-Connection-Id": "Only with 200: the id of the connection, which is also a server id"}


def _post(id: str, agent: Parameter) -> Operation:
    return Operation(
        id=id,
        tag="acp",
        summary="Send one message (ACP's own remote transport)",
        description=(
            "`initialize` starts an agent and a connection, and is answered in the body. The answer to any "
            "other request comes on a stream of the connection."
        ),
        parameters=[
            agent,
            OptionalText("cwd", "Working directory of the process that `initialize` starts"),
            _CONNECTION,
            _SESSION,
            HeaderParameter(
                "X-Sandbox-Agent-Env",
                "Further environment of the process that `initialize` starts: a JSON object of strings",
                '{"EDITOR":"true"}',
            ),
        ],
        body=Content(
            _Message, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
        ),
        responses={
            200: ResponseSpec(
                "The agent's answer to `initialize`",
                [Content(_Message, {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}})],
                headers=_STARTED,
            ),
            202: ResponseSpec("Written to the agent, or queued for it"),
        },
        errors=[
            errors.UnsupportedAgent,
            errors.NotFound,
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


def _stream(id: str, *path: Parameter) -> Operation:
    return Operation(
        id=id,
        tag="acp",
        summary="Follow a stream of a connection (ACP's own remote transport)",
        description=(
            "Without `Acp-Session-Id` the connection stream, with it the stream of the session. Server-sent "
            "events whose data is one JSON-RPC object; `id:` counts the events of the stream from 1 on. With "
            "`Upgrade: websocket` the same path is a WebSocket that carries all messages of a connection."
        ),
        parameters=[*path, _CONNECTION, _SESSION, _LAST_EVENT_ID],
        responses={
            200: ResponseSpec(
                "Events until the connection ends", [Content(str, media_type="text/event-stream")]
            )
        },
        errors=[errors.NotFound, errors.NotAcceptable, errors.Conflict, errors.TooManyStreams],
    )


def _close(id: str, *path: Parameter) -> Operation:
    return Operation(
        id=id,
        tag="acp",
        summary="End a connection and its agent (ACP's own remote transport)",
        parameters=[*path, _CONNECTION],
        responses={202: ResponseSpec("Ended, now or before")},
        errors=[errors.NotFound],
    )


POST_MESSAGE = _post("postRemoteAcpMessage", _AGENT_IN_QUERY)
POST_MESSAGE_TO_AGENT = _post("postRemoteAcpMessageToAgent", _AGENT_IN_PATH)
OPEN_STREAM = _stream("streamRemoteAcpMessages")
OPEN_STREAM_OF_AGENT = _stream("streamRemoteAcpMessagesOfAgent", _AGENT_IN_PATH)
CLOSE_CONNECTION = _close("closeRemoteAcpConnection")
CLOSE_CONNECTION_OF_AGENT = _close("closeRemoteAcpConnectionOfAgent", _AGENT_IN_PATH)
