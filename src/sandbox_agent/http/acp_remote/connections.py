"""All connections of ACP's own remote transport, by their id, which is the server_id of their instance."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest, NotFound, SessionNotFound
from sandbox_agent.http.access.access_check import equal_in_constant_time
from sandbox_agent.http.acp_remote.http_connection import HttpConnection
from sandbox_agent.http.acp_remote.remote_connection import RemoteConnection
from sandbox_agent.http.acp_remote.websocket.socket_connection import SocketConnection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.bridge.agent_starter import Bootstrap
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.settings import Settings

CONNECTION_ID = b"acp-connection-id"


class RemoteConnections:
    def __init__(self, instances: InstanceRegistry, settings: Settings) -> None:
        self._instances = instances
        self._settings = settings
        self._connections: dict[str, RemoteConnection] = {}
        instances.find_expendable = self._give_up_one
        instances.exit_listeners.append(self._on_exit)

    def start_http(self, bootstrap: Bootstrap) -> HttpConnection:
        """Start an agent for a new connection. Raises SandboxAgentError."""
        settings = self._settings
        connection = HttpConnection(
            self._start_instance(bootstrap),
            settings.acp_detach,
            self.end,
            settings.acp_hold_ms / 1000,
            settings.acp_max_sessions,
        )
        self._connections[connection.id] = connection
        return connection

    def start_socket(self, bootstrap: Bootstrap) -> SocketConnection:
        """Start an agent for a new connection over WebSocket. Raises SandboxAgentError."""
        instance = self._start_instance(bootstrap)
        connection = SocketConnection(instance, self._settings.acp_detach, self.end)
        self._connections[connection.id] = connection
        return connection

    def _start_instance(self, bootstrap: Bootstrap) -> Instance:
        return self._instances.for_post(str(uuid.uuid4()), bootstrap)

    def http(self, headers: Mapping[bytes, bytes]) -> HttpConnection:
        """The connection that a request names. Raises InvalidRequest or NotFound."""
        connection_id = read_connection_id(headers)
        connection = self._connections.get(connection_id)
        if not isinstance(connection, HttpConnection) or connection.log.closed:
            raise NotFound.resource("connection", connection_id)
        return connection

    def resumed_socket(self, connection_id: str, secret: bytes) -> SocketConnection:
        """The connection that a WebSocket resumes. Raises NotFound, also if the secret is wrong."""
        connection = self._connections.get(connection_id)
        if (
            not isinstance(connection, SocketConnection)
            or connection.log.closed
            or not equal_in_constant_time(secret, connection.secret)
        ):
            raise NotFound.resource("connection", connection_id)
        return connection

    def end(self, connection: RemoteConnection) -> None:
        """End the connection and its agent."""
        self._connections.pop(connection.id, None)
        connection.close()
        if not connection.log.closed:
            self._instances.discard(connection.id)

    async def delete(self, headers: Mapping[bytes, bytes]) -> None:
        """End the connection that a request names, which may have ended before.

        Raises InvalidRequest or NotFound.
        """
        connection_id = read_connection_id(headers)
        connection = self._connections.pop(connection_id, None)
        if connection is not None:
            connection.close()
        elif self._instances.find(connection_id):
            raise NotFound.resource("connection", connection_id)  # an instance of /v1/acp
        try:
            await self._instances.close(connection_id)
        except SessionNotFound:
            raise NotFound.resource("connection", connection_id) from None

    def _give_up_one(self) -> str | None:
        """Forget the connection that is detached for longest; its instance makes room for another."""
        connection = max(self._connections.values(), key=lambda one: one.detached_s, default=None)
        if connection is None or not connection.detached_s:
            return None
        del self._connections[connection.id]
        connection.close()
        return connection.id

    def _on_exit(self, instance: Instance) -> None:
        connection = self._connections.get(instance.server_id)
        if connection is not None and connection.instance is instance:
            connection.agent_exited()


def read_connection_id(headers: Mapping[bytes, bytes]) -> str:
    connection_id = headers.get(CONNECTION_ID, b"").decode("latin-1")
    if not connection_id:
        raise InvalidRequest("the header Acp-Connection-Id is missing")
    return connection_id
