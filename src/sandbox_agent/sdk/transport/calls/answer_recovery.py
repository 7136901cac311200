"""Recovering the answer of a call whose `POST` ended without one: it can still arrive on the stream.

The server's status decides. While the call is pending there, the wait goes on without limit. If nothing is
pending and the stream has caught up, no answer will come. If connections are refused, the server may be
restarting: it gets 0.75 s, then the call fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sandbox_agent.sdk.errors import (
    INSTANCE_GONE,
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    SandboxAgentError,
)
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall
from sandbox_agent.sdk.transport.instance_status import InstanceStatus
from sandbox_agent.sdk.transport.retries import REFUSED_LIMIT_S, gateway_failed, refused, server_stopping
from sandbox_agent.sdk.transport.streams.stream_handler import StreamHandler
from sandbox_agent.sdk.transport.streams.stream_reader import StreamReader

PROBE_TIMEOUT_S = 5.0
FIRST_PROBE_S = 0.1
LAST_PROBE_S = 2.0
# While the stream is up nothing has to be asked; hundreds of waiting calls cost next to nothing.
CONNECTED_PROBE_S = 120.0


class CallOwner(Protocol):
    """What sending and recovering a call need of its connection."""

    lost: SandboxAgentError | None
    status: InstanceStatus
    reader: StreamReader
    handler: StreamHandler

    def dead_server(self) -> SandboxAgentError | None: ...
    def lose(self, error: SandboxAgentError) -> None: ...


class AnswerRecovery:
    """Waits for one call to be answered on the stream, or fails it."""

    def __init__(
        self, connection: CallOwner, call: PendingCall, cause: BaseException | None, patience_s: float
    ) -> None:
        self._connection = connection
        self._call = call
        self._cause = cause
        self._patience_s = patience_s
        self._clock: Callable[[], float] = asyncio.get_running_loop().time
        self._silent_since: float | None = None
        self._refused_since: float | None = None

    async def run(self) -> None:
        """Return when the call is settled."""
        pause = FIRST_PROBE_S
        while not self._call.settled:
            if self._connection.lost is not None:
                self._call.fail(self._connection.lost)
                return
            dead = self._connection.dead_server()
            if dead is not None:
                self._connection.lose(dead)
                return
            await self._probe()
            if self._connection.reader.connected and self._silent_since is None:
                # The stream brings the answer, or `changed` ends this wait.
                await self._wait(CONNECTED_PROBE_S)
            else:
                await self._wait(FIRST_PROBE_S if self._refused_since is not None else pause)
                pause = min(LAST_PROBE_S, pause * 1.6)

    async def _probe(self) -> None:
        self._connection.handler.changed.clear()
        try:
            facts = await self._connection.status.facts(PROBE_TIMEOUT_S, once=True)
            self._silent_since = self._refused_since = None
            await self._decide(facts)
        except APIConnectionError as error:
            self._unreachable(error, gone=refused(error))
        except APIStatusError as error:
            if gateway_failed(error) or server_stopping(error):
                self._unreachable(error, gone=True)
            else:
                self._call.fail(error)

    def _unreachable(self, error: SandboxAgentError, *, gone: bool) -> None:
        now = self._clock()
        self._silent_since = self._silent_since or now
        self._refused_since = (self._refused_since or now) if gone else None
        if self._refused_since is not None and now - self._refused_since >= REFUSED_LIMIT_S:
            self._call.fail(_server_gone(self._call.method, error))
        elif now - self._silent_since > self._patience_s:
            self._call.fail(unknown_delivery(self._call.method, self._cause or error))

    async def _decide(self, facts: Mapping[str, Any] | None) -> None:
        """Decide from the server's status whether the answer can still come."""
        connection, status = self._connection, self._connection.status
        if facts is None:
            connection.lose(AgentExitedError(INSTANCE_GONE, vanished=True))
            return
        newest, exited = facts.get("lastEventId"), facts.get("status") == "exited"
        over = exited or facts.get("pendingRequests") == 0
        if not over or not isinstance(newest, int):
            return
        if not await status.caught_up(newest) or self._call.settled:
            return
        if exited:
            connection.lose(
                AgentExitedError(
                    "the agent process has ended", exit_code=facts.get("exitCode"), signal=facts.get("signal")
                )
            )
            return
        # Asked twice: the first status may be older than a POST that was still on its way.
        again = await status.facts(PROBE_TIMEOUT_S, once=True)
        if again is None or again.get("pendingRequests") != 0:
            return
        if await status.caught_up(again.get("lastEventId") or 0) and not self._call.settled:
            self._call.fail(unknown_delivery(self._call.method, self._cause))

    async def _wait(self, pause: float) -> None:
        broken = asyncio.create_task(self._connection.handler.changed.wait())
        try:
            await asyncio.wait(
                [self._call.future, broken], timeout=pause, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            broken.cancel()


def _server_gone(method: str, cause: BaseException) -> APIConnectionError:
    error = APIConnectionError(
        f"the server stopped during {method} and refuses connections; the message was not sent again",
        delivery_unknown=True,
    )
    error.__cause__ = cause
    return error


def unknown_delivery(method: str, cause: BaseException | None) -> APIConnectionError:
    """The failure of a call that may have reached the agent."""
    error = APIConnectionError(
        f"the connection broke during {method} and no answer came; the agent may or may not have "
        "received it, and it was not sent again",
        delivery_unknown=True,
    )
    error.__cause__ = cause
    return error
