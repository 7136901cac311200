"""What `GET /v1/acp` says about an instance, and whether the stream has caught up with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import INSTANCE_GONE, AgentExitedError, APIStatusError, SandboxAgentError
from sandbox_agent.sdk.response_errors import exit_error
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.streams.stream_reader import StreamReader

DRAIN_TIMEOUT_S = 2.0
CATCH_UP_ROUNDS = 20
CATCH_UP_ROUND_S = 0.25


class InstanceStatus:
    """The server's status of one instance."""

    def __init__(self, api: HttpApi, server_id: str, reader: StreamReader, over: Callable[[], bool]) -> None:
        self._api = api
        self._server_id = server_id
        self._reader = reader
        self._over = over

    async def facts(self, timeout_s: float | None = None, *, once: bool = False) -> dict[str, Any] | None:
        """The entry of this instance in `GET /v1/acp`; None if it is not listed."""
        response = await self._api.request(
            "GET", "/v1/acp", query={"serverId": self._server_id}, timeout_s=timeout_s, once=once
        )
        # A server of another make lists all its instances.
        servers = json_codec.decode(response.content).get("servers") or []
        return next((dict(one) for one in servers if one.get("serverId") == self._server_id), None)

    async def caught_up(self, newest: int) -> bool:
        """Wait up to 5 s for the stream to reach an event; returns whether it has."""
        for _ in range(CATCH_UP_ROUNDS):
            if self._reader.last_event_id >= newest or self._over():
                return True
            await self._reader.moved(CATCH_UP_ROUND_S)
        return self._reader.last_event_id >= newest

    async def drain(self) -> dict[str, Any] | None:
        """Read the stream up to the newest event; the server's status, None if the instance is not listed.

        Raises if the server does not answer.
        """
        facts = await self.facts(timeout_s=DRAIN_TIMEOUT_S, once=True)
        if facts is not None and isinstance(facts.get("lastEventId"), int):
            await self.caught_up(facts["lastEventId"])
        return facts

    async def agent_gone(self, error: APIStatusError) -> AgentExitedError | None:
        """The exit that an error answer reports; None if the agent is not gone.

        A server that was restarted answers 400 to an id it has never seen, because a first POST needs
        `agent`; its list of instances distinguishes this from a malformed request.
        """
        if error.error_type == "agent_process_exited":
            return exit_error(error.problem)
        if error.error_type == "session_not_found" or (
            error.error_type == "invalid_request" and await self._unlisted()
        ):
            gone = AgentExitedError(INSTANCE_GONE, vanished=True, never_delivered=True)
            gone.__cause__ = error
            return gone
        return None

    async def _unlisted(self) -> bool:
        try:
            return await self.facts() is None
        except SandboxAgentError:
            return False
