"""ACP without sessions and stores: requests out, messages in.

The transport is that of sessions: answers come in the order of the stream, a dropped stream reconnects, and a
broken `POST` loses nothing. Requests of the agent are read like every other message and answered with
`respond`.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from os import fspath
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.json_codec import plain
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.transport.acp_connection import AcpConnection
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath
from sandbox_agent.sdk.transport.initialize import initialize_params
from sandbox_agent.sdk.transport.streams.stream_reader import Gap


class AsyncAcpClient:
    """A direct ACP connection to one agent process; made by `client.acp.connect()`."""

    def __init__(
        self, api: HttpApi, server_id: str | None = None, *, server_alive: Callable[[], bool] | None = None
    ) -> None:
        self.server_id: str = server_id or f"py-acp-{uuid.uuid4()}"
        """The id of the instance on the server."""
        self.init_result: dict[str, Any] = {}
        """The agent's answer to `initialize`."""
        self._connection = AcpConnection(api, self.server_id, self, server_alive=server_alive)
        self._messages: list[Envelope] = []
        self._changed = asyncio.Event()
        self._closed = False

    def __repr__(self) -> str:
        agent = (self.init_result.get("agentInfo") or {}).get("name") or "not initialized"
        return f"<{type(self).__name__} {self.server_id!r}, {agent}{', closed' if self._closed else ''}>"

    async def initialize(
        self, agent: str, *, directory: RemotePath | None = None, params: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Start the agent and send `initialize`; `params` replaces the SDK's own parameters."""
        sent = initialize_params(forms=False) if params is None else dict(params)
        cwd = None if directory is None else fspath(directory)
        result = await self._connection.bootstrap(sent, {"agent": agent, "cwd": cwd})
        self.init_result = dict(result) if isinstance(result, Mapping) else {}
        return self.init_result

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - also sent to the server, as `Prefer: wait`
    ) -> Any:
        """Send a request and return its result; raises a typed error.

        Cancelling the wait sends `$/cancel_request`.
        """
        call_id = self._connection.new_id()
        try:
            return await self._connection.request(
                method, plain(params or {}), call_id=call_id, timeout_s=timeout
            )
        except asyncio.CancelledError:
            self._connection.cancel_request(call_id)
            raise

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; it has reached the agent when this returns."""
        await self._connection.notify(method, plain(params or {}))

    async def respond(
        self, request_id: Any, result: Any = None, *, error: Mapping[str, Any] | None = None
    ) -> None:
        """Answer a request of the agent, with a result or a JSON-RPC error."""
        answer = {"result": plain(result)} if error is None else {"error": dict(error)}
        await self._connection.respond({"jsonrpc": "2.0", "id": request_id, **answer})

    async def messages(self) -> AsyncIterator[Envelope]:
        """All messages of the agent, from the first one on; raises when the agent has ended.

        Events that the server could no longer replay appear as one message `_sandboxagent/gap`.
        """
        position = 0
        while True:
            changed = self._changed
            while position < len(self._messages):
                yield self._messages[position]
                position += 1
            if self._closed:
                return
            if self._connection.lost is not None:
                raise self._connection.lost
            if changed is self._changed:
                await changed.wait()

    async def aclose(self, *, keep_running: bool = False) -> None:
        """Stop reading and end the agent process, unless `keep_running`."""
        self._closed = True
        self._wake_readers()
        await self._connection.close(delete=not keep_running)

    async def __aenter__(self) -> AsyncAcpClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # -- listener of the connection -----------------------------------------------------------------

    def message_received(self, envelope: Envelope, event_id: int | None) -> None:
        self._messages.append(envelope)
        self._wake_readers()

    def events_lost(self, gap: Gap) -> None:
        lost = {"first": gap.first, "last": gap.last, "newest": gap.newest}
        self._messages.append({"jsonrpc": "2.0", "method": "_sandboxagent/gap", "params": lost})
        self._wake_readers()

    def instance_lost(self, error: SandboxAgentError) -> None:
        self._wake_readers()

    def _wake_readers(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
