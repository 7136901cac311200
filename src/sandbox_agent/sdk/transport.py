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

from . import wire
from .calls import Call
from .errors import (
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    SandboxAgentError,
    exit_error,
)
from .http_api import HttpApi, backoff, network_errors, never_sent, refused, segment
from .stream_reader import Gap, StreamReader
from .wire import Envelope

log = logging.getLogger("sandbox_agent")

# The server may install and start the agent first, for up to 600 s.
BOOTSTRAP_TIMEOUT_S = 720.0
# A prompt that was not refused for this long is with the agent.
ACCEPTED_AFTER_S = 0.5
# How long an answer in a POST body waits for its copy on the stream, which brings what came before it.
ANSWER_GRACE_S = 10.0
# A call waits this long for an agent's last words (its 502 with stderr) after the stream said it ended.
LAST_WORDS_S = 0.75
# Nobody listens at the address: the server, and every agent in it, is gone.
REFUSED_LIMIT_S = 1.0
# The network is broken, the server may live: a call whose POST broke hopes for this long.
UNREACHABLE_LIMIT_S = 60.0
FIRST_PROBE_S = 0.1
LAST_PROBE_S = 2.0
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
        self.reader = StreamReader(api, server_id, self, after=after)
        self._api = api
        self._listener = listener
        self._server_alive = server_alive or (lambda: True)
        self._path = f"/v1/acp/{segment(server_id)}"
        self._client_id = uuid.uuid4().hex[:8]
        self._numbers = itertools.count(1)
        self._calls: dict[str, Call] = {}
        self._told_by_body: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    # -- outgoing -----------------------------------------------------------------------------------

    def new_id(self) -> str:
        """A request id no other client of this instance uses."""
        return f"{self._client_id}-{next(self._numbers)}"

    async def bootstrap(
        self, params: Mapping[str, Any], query: Mapping[str, str | None], headers: Mapping[str, str]
    ) -> Any:
        """Start the instance with `initialize`, and then begin to read its stream."""
        call = Call(self.new_id(), "initialize", None)
        body = _request(call.id, "initialize", params)
        self._calls[call.id] = call
        try:
            response = await self._api.request(
                "POST",
                self._path,
                query=query,
                content=body,
                headers={**_POST_HEADERS, **headers},
                timeout_s=BOOTSTRAP_TIMEOUT_S,
                retry=True,
            )
        except APIStatusError as error:
            gone = _exit_of(error)
            if gone is None:
                raise
            raise gone from gone.__cause__
        finally:
            del self._calls[call.id]
        call.answer(wire.decode(response.content))
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
        call = Call(call_id or self.new_id(), method, on_accepted)
        self._calls[call.id] = call
        prefer = [f"wait={max(1, round(timeout_s))}"] if timeout_s is not None else []
        prefer += ["respond-async"] if respond_async else []
        headers = {**_POST_HEADERS, **({"prefer": ", ".join(prefer)} if prefer else {})}
        post = self._spawn(self._post(call, _request(call.id, method, params), headers), f"POST {method}")
        timer = asyncio.get_running_loop().call_later(ACCEPTED_AFTER_S, call.accept)
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
            timer.cancel()
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
                "POST", self._path, content=wire.encode(envelope), headers=_POST_HEADERS, retry=retry
            )
        except APIStatusError as error:
            gone = _exit_of(error)
            if gone is None:
                raise
            self._lose(gone)
            raise gone from error

    # -- one POST and what may become of it ---------------------------------------------------------

    async def _post(self, call: Call, body: bytes, headers: Mapping[str, str]) -> None:
        try:
            status, content = await self._deliver_post(body, headers)
        except APIStatusError as error:
            await self._post_refused(call, error)
        except APIConnectionError as error:
            if never_sent(error):
                call.fail(self._dead_server() or error)
            else:
                await self._settle_from_stream(call, error)
        else:
            call.accept()
            if status == 202:
                await self._settle_from_stream(call, None)
            else:
                await self._answer_from_body(call, content)

    async def _deliver_post(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        for attempt in itertools.count():
            try:
                async with self._api.open(
                    "POST", self._path, body=body, headers=headers, unlimited=True
                ) as response:
                    with network_errors(f"POST {self._path}"):
                        return response.status_code, await response.aread()
            except APIConnectionError as error:
                if attempt >= self._api.max_retries or not never_sent(error):
                    raise
            await asyncio.sleep(backoff(attempt))
        raise AssertionError("unreachable")

    async def _post_refused(self, call: Call, error: APIStatusError) -> None:
        gone = _exit_of(error)
        if gone is not None:
            if not gone.never_delivered:
                call.accept()
                # The stream's last words go before the error, so that no update of the turn is lost.
                await self._drain()
            self._lose(gone)
            call.fail(gone)
        elif not error.error_type and error.status_code in (502, 503, 504):
            # Not our server's words: something between us cut the response, the agent works on.
            await self._settle_from_stream(call, error)
        else:
            call.fail(error)

    async def _answer_from_body(self, call: Call, content: bytes) -> None:
        try:
            envelope = wire.decode(content)
        except ValueError as error:
            await self._settle_from_stream(call, error)
            return
        await asyncio.wait([call.future], timeout=ANSWER_GRACE_S)
        if not call.settled:
            self._told_by_body.add(call.id)
            self._hand_on(envelope, None)
            call.answer(envelope)

    async def _settle_from_stream(self, call: Call, cause: BaseException | None) -> None:
        """The POST is over without an answer: wait for it on the stream as long as one can come."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PROBE_S
        unreachable_since: float | None = None
        while not call.settled:
            if self.lost is not None:
                call.fail(self.lost)
                return
            dead = self._dead_server()
            if dead is not None:
                self._lose(dead)
                return
            try:
                facts = await self.facts(timeout_s=5.0)
            except APIConnectionError as error:
                unreachable_since = unreachable_since or loop.time()
                limit = REFUSED_LIMIT_S if refused(error) else UNREACHABLE_LIMIT_S
                if loop.time() - unreachable_since > limit:
                    call.fail(_unknown_delivery(call.method, cause or error))
            except APIStatusError as error:
                call.fail(error)
            else:
                unreachable_since = None
                await self._judge(call, facts, cause)
            await asyncio.wait([call.future], timeout=pause)
            pause = min(LAST_PROBE_S, pause * 1.6)

    async def _judge(self, call: Call, facts: Mapping[str, Any] | None, cause: BaseException | None) -> None:
        """Decide from the server's own account whether the answer can still come."""
        if facts is None:
            self._lose(AgentExitedError("the agent instance no longer exists on the server", vanished=True))
            return
        newest = facts.get("lastEventId")
        over = facts.get("status") == "exited" or facts.get("pendingRequests") == 0
        if not over or not isinstance(newest, int):
            return
        if not await self.caught_up(newest) or call.settled:
            return
        if facts.get("status") == "exited":
            self._lose(
                AgentExitedError(
                    "the agent process has ended", exit_code=facts.get("exitCode"), signal=facts.get("signal")
                )
            )
        elif (again := await self.facts(timeout_s=5.0)) is not None and again.get("pendingRequests") == 0:
            # Asked twice: the first account may be older than a POST that was still on its way in.
            if await self.caught_up(again.get("lastEventId") or 0) and not call.settled:
                call.fail(_unknown_delivery(call.method, cause))

    async def caught_up(self, newest: int) -> bool:
        """Wait a few seconds for the stream to reach an event; whether it has."""
        for _ in range(20):
            if self.reader.last_event_id >= newest or self.lost is not None:
                return True
            await self.reader.moved(0.25)
        return self.reader.last_event_id >= newest

    async def _drain(self) -> None:
        try:
            facts = await self.facts(timeout_s=2.0)
        except SandboxAgentError:
            return
        if facts is not None and isinstance(facts.get("lastEventId"), int):
            await self.caught_up(facts["lastEventId"])

    async def facts(self, timeout_s: float | None = None) -> dict[str, Any] | None:
        """What `GET /v1/acp` says about this instance; None if it is not listed."""
        response = await self._api.request("GET", "/v1/acp", timeout_s=timeout_s)
        servers = wire.decode(response.content).get("servers") or []
        return next((dict(one) for one in servers if one.get("serverId") == self.server_id), None)

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

    def stream_gap(self, gap: Gap) -> None:
        """The server could not replay everything."""
        log.warning("%s: events %d to %d were lost", self._path, gap.first, gap.last)
        self._listener.events_lost(gap)

    def stream_ended(self, error: SandboxAgentError) -> None:
        """The stream will not come back."""
        self._lose(error)

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
            asyncio.get_running_loop().call_later(LAST_WORDS_S, self._lose, error)
        else:
            self._lose(error)

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
        if delete:
            try:
                await self._api.request("DELETE", self._path, timeout_s=DELETE_TIMEOUT_S)
            except APIStatusError as error:
                if error.status_code != 404:
                    raise

    def _check(self) -> None:
        if self.lost is not None:
            raise self.lost

    def _dead_server(self) -> SandboxAgentError | None:
        return None if self._server_alive() else APIConnectionError("the server process has ended")

    def _lose(self, error: SandboxAgentError) -> None:
        if self.lost is not None:
            return
        self.lost = error
        # First the listener, which writes the end of the turn, then those who wait for it.
        self._listener.instance_lost(error)
        for call in list(self._calls.values()):
            if call.accepted:
                call.fail(error)
            else:
                # Its POST will say in a moment whether the message got through.
                asyncio.get_running_loop().call_later(LAST_WORDS_S, _fail_as_sent, call, error)
        if not self._closed:
            self._spawn(self.reader.stop(), "end of stream")

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


_POST_HEADERS = {"content-type": "application/json", "accept": "application/json"}


def _request(call_id: str, method: str, params: Mapping[str, Any]) -> bytes:
    return wire.encode({"jsonrpc": "2.0", "id": call_id, "method": method, "params": dict(params)})


async def _let_end(post: asyncio.Task[None]) -> None:
    await asyncio.wait([post], timeout=POST_TAIL_S)
    post.cancel()


def _exit_of(error: APIStatusError) -> AgentExitedError | None:
    """An answer that means: there is no agent behind this id any more."""
    if error.error_type == "agent_process_exited":
        return exit_error(error.problem)
    never_seen = error.status_code == 400 and "missing required 'agent'" in str(error.problem.get("detail"))
    if error.error_type == "session_not_found" or never_seen:
        # Closed by somebody, or the server was restarted and has never heard of the id.
        gone = AgentExitedError(
            "the agent instance no longer exists on the server", vanished=True, never_delivered=True
        )
        gone.__cause__ = error
        return gone
    return None


def _fail_as_sent(call: Call, error: SandboxAgentError) -> None:
    if not call.settled:
        call.accept()
        call.fail(error)


def _unknown_delivery(method: str, cause: BaseException | None) -> APIConnectionError:
    error = APIConnectionError(
        f"the connection broke during {method} and no answer came; the agent may or may not have "
        "received it, and it was not sent again",
        delivery_unknown=True,
    )
    error.__cause__ = cause
    return error
