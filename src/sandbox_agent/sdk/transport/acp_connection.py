"""One connection to one agent instance: requests out, an ordered stream in.

Every message is one `POST`. Answers are taken in the order of the stream, so a turn never ends before its
last update. The answer to a broken `POST` comes from the stream, or the call fails with a typed error as
soon as the server says that none will come. A request that may have reached the agent is never sent again.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import uuid
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    INSTANCE_GONE,
    AgentExitedError,
    AgentTimeoutError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    SandboxAgentError,
)
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.response_errors import exit_error
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall
from sandbox_agent.sdk.transport.calls.pending_calls import PendingCalls
from sandbox_agent.sdk.transport.calls.post_sender import POST_HEADERS, PostSender
from sandbox_agent.sdk.transport.calls.silence_check import SilenceCheck
from sandbox_agent.sdk.transport.http_api import HttpApi, segment
from sandbox_agent.sdk.transport.instance_status import InstanceStatus
from sandbox_agent.sdk.transport.streams.shared_streams import SharedStreams
from sandbox_agent.sdk.transport.streams.stream_handler import Listener, StreamHandler
from sandbox_agent.sdk.transport.streams.stream_reader import StreamReader

log = logging.getLogger("sandbox_agent")

# The server may first install and start the agent, for up to 600 s.
BOOTSTRAP_TIMEOUT_S = 720.0
# Our server answers within 1.5 s; the reference may never answer and must not block closing.
DELETE_TIMEOUT_S = 5.0
# How long the POST of an answered call may take to end, so that its connection can be reused.
POST_TAIL_S = 2.0


class AcpConnection:
    """The client's connection to one `server_id`, for the lifetime of one agent process."""

    def __init__(
        self,
        api: HttpApi,
        server_id: str,
        listener: Listener,
        *,
        after: int | None = None,
        server_alive: Callable[[], bool] | None = None,
        shared: SharedStreams | None = None,
    ) -> None:
        self.server_id = server_id
        self.lost: SandboxAgentError | None = None
        self.created_at_ms: int | None = None
        """When the instance was created, if the server said so with the answer to `initialize`."""
        self._api = api
        self._listener = listener
        self._server_alive = server_alive or (lambda: True)
        self._path = f"/v1/acp/{segment(server_id)}"
        self._client_id = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)
        self._calls = PendingCalls()
        self.handler = StreamHandler(
            self._path, listener, self._calls, lose=self.lose, dropped=self._stream_dropped
        )
        self.reader = StreamReader(api, server_id, self.handler, after=after, shared=shared)
        self.status = InstanceStatus(api, server_id, self.reader, lambda: self.lost is not None)
        self._silence = SilenceCheck(self._calls, self.reader, api)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    # -- outgoing -----------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A request id that no other client of this instance uses."""
        return f"{self._client_id}-{next(self._numbers)}"

    async def bootstrap(
        self,
        params: Mapping[str, Any],
        query: Mapping[str, str | None],
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Start the instance with `initialize`, then start to read its stream."""
        call = PendingCall(self.new_id(), "initialize", None)
        self._calls.add(call)
        try:
            response = await self._api.request(
                "POST",
                self._path,
                query=query,
                content=_request(call.id, "initialize", params),
                headers={**POST_HEADERS, **(headers or {})},
                timeout_s=BOOTSTRAP_TIMEOUT_S,
                retry=True,
            )
        except APIStatusError as error:
            if error.error_type != "agent_process_exited":
                raise
            gone = exit_error(error.problem)
            raise gone from gone.__cause__
        finally:
            self._calls.discard(call)
        call.answer(json_codec.decode(response.content))
        created = response.headers.get("x-sandbox-agent-created-at-ms", "")
        self.created_at_ms = int(created) if created.isdigit() else None
        self.reader.start()
        return call.future.result()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        call_id: str | None = None,
        timeout_s: float | None = None,
        respond_async: bool = False,
        on_accepted: Callable[[], None] | None = None,
    ) -> Any:
        """Send a request and return its result; raises a typed error."""
        self._check()
        call = PendingCall(call_id or self.new_id(), method, on_accepted)
        self._calls.add(call)
        # The server's limit is the later one, so that the time-out is always that of this client.
        prefer = [f"wait={math.ceil(timeout_s) + 1}"] if timeout_s is not None else []
        prefer += ["respond-async"] if respond_async else []
        headers = {**POST_HEADERS, **({"prefer": ", ".join(prefer)} if prefer else {})}
        delivery = PostSender(self, self._api, self._path, call, headers)
        post = self._spawn(delivery.run(_request(call.id, method, params)), f"POST {method}")
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(call.future)
        except TimeoutError as error:
            if call.settled:
                # The answer came while the loop was busy: it counts, though the limit has passed.
                return call.future.result()
            raise _timed_out(method, timeout_s) from error
        except AgentTimeoutError as error:
            if timeout_s is None or asyncio.get_running_loop().time() - call.began < timeout_s:
                raise
            raise _timed_out(method, timeout_s) from error
        finally:
            if not call.settled:
                call.accept()
            self._calls.discard(call)
            self._spawn(_await_end(post), "end of POST")

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; it has reached the agent when this returns."""
        self._check()
        await self._send({"jsonrpc": "2.0", "method": method, "params": dict(params)}, retry=False)

    def cancel_request(self, call_id: str) -> Envelope:
        """Cancel a request in the agent, in the background; returns the message."""
        message = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": call_id}}
        if self.lost is None:
            self._spawn(self._send_if_possible(message), "cancel request")
        return message

    async def respond(self, envelope: Envelope) -> None:
        """Answer a request of the agent; repeated until the server has it, which is safe."""
        self._check()
        await self._send(envelope, retry=True)

    async def pending_requests(self) -> int | None:
        """How many requests the agent works on, after all it said has been read; None if unknown.

        An instance that the server does not have, because it was restarted, is lost.
        """
        try:
            facts = await self.status.drain()
        except SandboxAgentError:
            return None
        if facts is None:
            self.lose(AgentExitedError(INSTANCE_GONE, vanished=True))
            return 0
        count = facts.get("pendingRequests")
        return count if isinstance(count, int) else None

    async def _send(self, envelope: Envelope, *, retry: bool) -> None:
        try:
            await self._api.request(
                "POST", self._path, content=json_codec.encode(envelope), headers=POST_HEADERS, retry=retry
            )
        except APIStatusError as error:
            gone = await self.status.agent_gone(error)
            if gone is None:
                raise
            self.lose(gone)
            raise gone from error

    async def _send_if_possible(self, envelope: Envelope) -> None:
        try:
            await self._send(envelope, retry=False)
        except SandboxAgentError as error:
            log.debug("%s was not delivered: %s", envelope["method"], error)

    # -- closing ------------------------------------------------------------------------------------

    async def close(self, *, delete: bool) -> None:
        """Stop reading and fail pending calls; with `delete` also end the agent process."""
        self._closed = True
        self._silence.stop()
        if self.lost is None:
            self.lost = APIConnectionError("the connection was closed by this client")
        self._calls.fail_all(self.lost)
        await self.reader.stop()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        if delete and self.dead_server() is None:
            try:
                await self._api.request("DELETE", self._path, timeout_s=DELETE_TIMEOUT_S)
            except APIStatusError as error:
                if error.status_code != 404:
                    raise

    def lose(self, error: SandboxAgentError) -> None:
        """The agent is gone: tell the listener and fail the pending calls."""
        if self.lost is not None:
            return
        self.lost = error
        self._silence.stop()
        # The listener first: it records the end of the turn, which the callers wait for.
        self._listener.instance_lost(error)
        self._calls.lose_all(error)
        if not self._closed:
            self._spawn(self.reader.stop(), "end of stream")

    def _stream_dropped(self) -> None:
        dead = self.dead_server()
        if dead is not None:
            self.lose(dead)
        else:
            self._silence.begin()

    def dead_server(self) -> SandboxAgentError | None:
        """The error to raise if the server process is known to have ended; None otherwise."""
        return None if self._server_alive() else APIConnectionError("the server process has ended")

    def _check(self) -> None:
        """Raise if the agent is gone; the message was then not sent."""
        if isinstance(self.lost, AgentExitedError):
            raise self.lost.before_delivery()
        if self.lost is not None:
            raise self.lost.again()

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _request(call_id: str, method: str, params: Mapping[str, Any]) -> bytes:
    return json_codec.encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)})


def _timed_out(method: str, timeout_s: float | None) -> APITimeoutError:
    return APITimeoutError(f"{method} was not answered within {timeout_s} s", delivery_unknown=True)


async def _await_end(post: asyncio.Task[None]) -> None:
    await asyncio.wait([post], timeout=POST_TAIL_S)
    post.cancel()
