"""A connection over Streamable HTTP: a connection stream, and a stream for each session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.acp_remote.message_router import MessageRouter
from sandbox_agent.http.acp_remote.remote_connection import RemoteConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.jsonrpc.routing_fields import RoutingFields

# A session has to be named by the header, by `params.sessionId` or by both.
_SESSION_METHODS = frozenset(
    f"session/{name}"
    for name in (
        "cancel",
        "close",
        "delete",
        "fork",
        "load",
        "prompt",
        "resume",
        "set_config_option",
        "set_mode",
        "set_model",
    )
)


class HttpConnection(RemoteConnection):
    def __init__(
        self,
        instance: Instance,
        detach_s: float,
        end: Callable[[RemoteConnection], None],
        hold_s: float,
        max_sessions: int,
    ) -> None:
        super().__init__(instance, detach_s, end)
        self.router = MessageRouter(instance.log, hold_s, max_sessions)

    def session_of(self, fields: RoutingFields, header: str) -> str:
        """The session of a message of the client: by its header, its params, or the request it answers.

        Raises InvalidRequest.
        """
        named = fields.session if fields.method else self.router.asking_session(fields)
        if header and named and header != named:
            raise InvalidRequest(f"Acp-Session-Id is '{header}', but the message belongs to '{named}'")
        if not header and not named and fields.method in _SESSION_METHODS:
            raise InvalidRequest(f"{fields.method} needs Acp-Session-Id or params.sessionId")
        return header or named

    @property
    def is_finished(self) -> bool:
        """Whether no more messages will come."""
        return self.has_ended and not self.router.is_holding

    def agent_exited(self) -> None:
        super().agent_exited()
        self.router.pump_all()

    def close(self) -> None:
        super().close()
        self.router.close()
