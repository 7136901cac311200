"""One live connection to one agent instance: requests out, an ordered stream in.

Every message is one `POST`; every answer is taken in the order of the stream, so that a turn is never
over before its last update was seen. A `POST` that breaks loses nothing: its answer comes from the
stream, or the call ends with a typed error as soon as the server says that there will be none. A
request that may have reached the agent is never sent again.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import uuid
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    SandboxAgentError,
)
from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.transport.http_api import HttpApi, segment
from sandbox_agent.sdk.transport.instance_status import InstanceStatus
from sandbox_agent.sdk.transport.pending_call import PendingCall
from sandbox_agent.sdk.transport.request_sender import POST_HEADERS, RequestSender, exit_of
from sandbox_agent.sdk.transport.stream_reader import Gap, StreamReader

log = logging.getLogger("sandbox_agent")

# The server may install and start the agent first, for up to 600 s.
BOOTSTRAP_TIMEOUT_S = 720.0
# A call waits this long for an agent's last words (its 502 with stderr) after the stream said it ended.
LAST_WORDS_S = 0.75
# Our server answers within 1.5 s; one that never does (the reference) must not hold up a client's end.
DELETE_TIMEOUT_S = 5.0
# A finished call leaves its POST this long to end by itself, so that the connection can be used again.
POST_TAIL_S = 2.0


class Listener(Protocol):
    """Who hears what an agent says; called in wire order, never concurrently."""

    def agent_said(self, envelope: Envelope, event_id: int | None) -> None: ...
    def events_lost(self, gap: Gap) -> None: ...
    def instance_lost(self, error: SandboxAgentError) -> None: ...


class AcpConnection:
    """The client's end of one `server_id`; it lives for one life of the agent process."""

    def __init__(
        self,
        api: HttpApi,
        server_id: str,
        listener: Listener,
        *,
        after: int | None = None,
        server_alive: Callable[[], bool] | None = None,
    ) -> None:
        self.server_id = server_id
        self.lost: SandboxAgentError | None = None
        self.disturbed = asyncio.Event()
        self.reader = StreamReader(api, server_id, self, after=after)
        self.status = InstanceStatus(api, server_id, self.reader, lambda: self.lost is not None)
        self._api = api
        self._listener = listener
        self._server_alive = server_alive or (lambda: True)
        self._path = f"/v1/acp/{segment(server_id)}"
        self._client_id = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)
        self._calls: dict[str, PendingCall] = {}
        self._told_by_body: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    # -- outgoing -----------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A request id no other client of this instance uses."""
        return f"{self._client_id}-{next(self._numbers)}"

    async def bootstrap(self, params: Mapping[str, Any], query: Mapping[str, str | None]) -> Any:
        """Start the instance with `initialize`, and then begin to read its stream."""
        call = PendingCall(self.new_id(), "initialize", None)
        self._calls[call.id] = call
        try:
            response = await self._api.request(
                "POST",
                self._path,
                query=query,
                content=_request(call.id, "initialize", params),
                headers=POST_HEADERS,
                timeout_s=BOOTSTRAP_TIMEOUT_S,
                retry=True,
            )
        except APIStatusError as error:
            gone = exit_of(error)
            if gone is None:
                raise
            raise gone from gone.__cause__
        finally:
            del self._calls[call.id]
        call.answer(json_codec.decode(response.content))
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
        """Send a request and return its result; raises what went wrong, typed."""
        self._check()
        call = PendingCall(call_id or self.new_id(), method, on_accepted)
        self._calls[call.id] = call
        prefer = [f"wait={max(1, round(timeout_s))}"] if timeout_s is not None else []
        prefer += ["respond-async"] if respond_async else []
        headers = {**POST_HEADERS, **({"prefer": ", ".join(prefer)} if prefer else {})}
        delivery = RequestSender(self, self._api, self._path, call, headers)
        post = self._spawn(delivery.run(_request(call.id, method, params)), f"POST {method}")
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(call.future)
        except TimeoutError as error:
            if call.settled:
                raise
            raise APITimeoutError(
                f"{method} was not answered within {timeout_s} s", delivery_unknown=True
            ) from error
        finally:
            if not call.settled:
                call.accept()
            self._calls.pop(call.id, None)
            self._spawn(_let_end(post), "end of POST")

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; it has reached the agent when this returns."""
        self._check()
        await self._send({"jsonrpc": "2.0", "method": method, "params": dict(params)}, retry=False)

    async def respond(self, envelope: Envelope) -> None:
        """Answer a request of the agent. Safe to repeat, so it is, until the server has it."""
        self._check()
        await self._send(envelope, retry=True)

    async def _send(self, envelope: Envelope, *, retry: bool) -> None:
        try:
            await self._api.request(
                "POST", self._path, content=json_codec.encode(envelope), headers=POST_HEADERS, retry=retry
            )
        except APIStatusError as error:
            gone = exit_of(error)
            if gone is None:
                raise
            self.lose(gone)
            raise gone from error

    # -- incoming -----------------------------------------------------------------------------------

    def stream_message(self, envelope: Envelope, event_id: int) -> None:
        """A message of the stream, in order."""
        if "method" not in envelope and envelope.get("id") in self._told_by_body:
            self._told_by_body.discard(envelope["id"])
            return
        for waiting in list(self._calls.values()):
            waiting.accept()
        self._hand_on(envelope, event_id)
        if "method" not in envelope:
            identity = envelope.get("id")
            call = self._calls.get(identity) if isinstance(identity, str) else None
            if call is not None:
                call.answer(envelope)
        elif envelope.get("method") == "_adapter/agent_exited":
            self._agent_exited(envelope.get("params"))

    def answered_by_body(self, call: PendingCall, envelope: Envelope) -> None:
        """The stream did not bring the answer in time; the body of the `POST` has it."""
        self._told_by_body.add(call.id)
        self._hand_on(envelope, None)
        call.answer(envelope)

    def stream_gap(self, gap: Gap) -> None:
        """The server could not replay everything."""
        log.warning("%s: events %d to %d were lost", self._path, gap.first, gap.last)
        self._listener.events_lost(gap)

    def stream_dropped(self) -> None:
        """The stream broke and will be opened again, unless the server is known to be dead."""
        self.disturbed.set()
        dead = self.dead_server()
        if dead is not None:
            self.lose(dead)

    def stream_ended(self, error: SandboxAgentError) -> None:
        """The stream will not come back."""
        self.lose(error)

    def _hand_on(self, envelope: Envelope, event_id: int | None) -> None:
        try:
            self._listener.agent_said(envelope, event_id)
        except Exception:
            # One message the library stumbles over must not silence all that follow.
            log.exception("a message of %s could not be handled", self._path)

    def _agent_exited(self, params: Any) -> None:
        code = params.get("code") if isinstance(params, Mapping) else None
        error = AgentExitedError(
            "the agent process has ended", exit_code=code if isinstance(code, int) else None
        )
        if self._calls:
            asyncio.get_running_loop().call_later(LAST_WORDS_S, self.lose, error)
        else:
            self.lose(error)

    # -- the end ------------------------------------------------------------------------------------

    async def close(self, *, delete: bool) -> None:
        """Stop reading and waiting; with `delete` end the agent process as well."""
        self._closed = True
        if self.lost is None:
            self.lost = APIConnectionError("the connection was closed by this client")
        for call in list(self._calls.values()):
            call.fail(self.lost)
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
        """There is no agent behind this connection any more; everybody who waits is told."""
        if self.lost is not None:
            return
        self.lost = error
        # First the listener, which writes the end of the turn, then those who wait for it.
        self._listener.instance_lost(error)
        for call in list(self._calls.values()):
            if call.accepted or call.unsent:
                call.lose(error)
            else:
                # Its POST will say in a moment whether the message got through.
                asyncio.get_running_loop().call_later(LAST_WORDS_S, call.lose, error)
        if not self._closed:
            self._spawn(self.reader.stop(), "end of stream")

    def dead_server(self) -> SandboxAgentError | None:
        """The error to raise if the server is known to be gone; None otherwise."""
        return None if self._server_alive() else APIConnectionError("the server process has ended")

    def _check(self) -> None:
        if self.lost is not None:
            raise self.lost

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _request(call_id: str, method: str, params: Mapping[str, Any]) -> bytes:
    return json_codec.encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)})


async def _let_end(post: asyncio.Task[None]) -> None:
    await asyncio.wait([post], timeout=POST_TAIL_S)
    post.cancel()
