"""POST /v1/acp/{server_id}: from a complete request to the agent's stdin, and from its answer to the reply.

Written with callbacks, so that the quick way through the server needs no task per message; the ASGI
application uses the same function with a reply of its own. The checks come in a documented order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import msgspec

from sandbox_agent.bridge import envelope as envelopes
from sandbox_agent.bridge.envelope import SCAN_IN_THREAD_ABOVE, Envelope
from sandbox_agent.bridge.instances import Bootstrap
from sandbox_agent.bridge.json_scan import NotJson
from sandbox_agent.bridge.pending import Answer
from sandbox_agent.errors import (
    InvalidRequest,
    NotAcceptable,
    SandboxAgentError,
    UnsupportedAgent,
    UnsupportedMediaType,
)
from sandbox_agent.http import problems
from sandbox_agent.http.exchange import JSON, Query

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_ACCEPTED = frozenset((b"application/json", b"application/*", b"*/*"))


class Reply(Protocol):
    """Where the answer goes. Calls after the client has left do nothing."""

    def answer(self, body: bytes) -> None:
        """200 with this JSON body, or the body alone when the header has gone out already."""

    def accept(self) -> None:
        """202 without a body."""

    def refuse(self, error: SandboxAgentError) -> None:
        """The problem document; never after `announce`."""

    def announce(self) -> None:
        """Send the header of a 200 before there is a body."""

    def blank(self) -> None:
        """After `announce`: a blank, so that nobody on the way believes the connection dead."""


def handle(
    services: Services,
    server_id: str,
    raw_query: bytes,
    headers: Mapping[bytes, bytes],
    body: bytes,
    reply: Reply,
) -> None:
    """Answer one POST through `reply`, now or later. Raises what is wrong with the request itself."""
    query = Query(raw_query) if raw_query else None
    agent = query.get("agent") if query else None
    _check_content_type(headers)
    _check_accept(headers)
    post = _Post(services, server_id, query, agent, headers, body, reply)
    try:
        message = envelopes.peek_quickly(body)
        if message is not None:
            post.proceed(message)
        elif len(body) <= SCAN_IN_THREAD_ABOVE:
            post.proceed(envelopes.peek_thoroughly(body))
        else:
            scan = asyncio.get_running_loop().run_in_executor(None, envelopes.peek_thoroughly, body)
            scan.add_done_callback(post.scanned)
    except NotJson as error:
        raise _invalid_body(error) from None


def _check_content_type(headers: Mapping[bytes, bytes]) -> None:
    content_type = headers.get(b"content-type", b"")
    if content_type != JSON and content_type.partition(b";")[0].strip().lower() != JSON:
        raise UnsupportedMediaType("content-type must be application/json")


def _check_accept(headers: Mapping[bytes, bytes]) -> None:
    accept = headers.get(b"accept")
    if accept is None or accept in _ACCEPTED:
        return
    if not any(part.partition(b";")[0].strip().lower() in _ACCEPTED for part in accept.split(b",")):
        raise NotAcceptable("accept must allow application/json")


def _invalid_body(error: NotJson) -> InvalidRequest:
    return InvalidRequest(f"invalid JSON body: {error}")


class _Post:
    """One POST on its way, from the peek at its body on."""

    def __init__(
        self,
        services: Services,
        server_id: str,
        query: Query | None,
        agent: str | None,
        headers: Mapping[bytes, bytes],
        body: bytes,
        reply: Reply,
    ) -> None:
        self._services = services
        self._server_id = server_id
        self._query = query
        self._agent = agent
        self._headers = headers
        self._body = body
        self._reply = reply

    def scanned(self, scan: asyncio.Future[Envelope]) -> None:
        try:
            self.proceed(scan.result())
        except NotJson as error:
            self._reply.refuse(_invalid_body(error))
        except SandboxAgentError as error:
            self._reply.refuse(error)

    def proceed(self, message: Envelope) -> None:
        if not message.is_object:
            raise InvalidRequest("request body must be a JSON-RPC object")
        instance = self._services.instances.for_post(self._server_id, self._bootstrap())
        body = self._body
        if b"\n" in body or b"\r" in body:
            # Line ends stand between tokens only; the pipe is framed by them, so they become blanks.
            body = body.replace(b"\n", b" ").replace(b"\r", b" ")
        asynchronous, wait_s = _preferences(self._headers)
        if not message.is_request:
            instance.forward(message, body, self._forwarded, wait_s)
        elif asynchronous:
            instance.call(message, body, None, wait_s)
            self._reply.accept()
        else:
            waiting = Waiting(self._reply, message.id, self._services.early_headers)
            instance.call(message, body, waiting.settle, wait_s)
            waiting.watch()

    def _bootstrap(self) -> Bootstrap | None:
        if self._agent is None or self._query is None:
            return None
        if self._agent not in self._services.catalog:
            raise UnsupportedAgent(self._agent)
        return Bootstrap(self._agent, self._query.get("cwd"), self._environment())

    def _environment(self) -> Mapping[str, str] | None:
        header = self._headers.get(b"x-sandbox-agent-env")
        if header is None:
            return None
        return parse_environment(header, self._services)

    def _forwarded(self, answer: Answer) -> None:
        if isinstance(answer, SandboxAgentError):
            self._reply.refuse(answer)
        else:
            self._reply.accept()


def parse_environment(header: bytes, services: Services) -> Mapping[str, str]:
    """`X-Sandbox-Agent-Env`: a JSON object of strings, or the name of a profile in the agents file."""
    text = header.strip()
    if text.startswith(b"{"):
        try:
            return msgspec.json.decode(text, type=dict[str, str])
        except msgspec.MsgspecError as error:
            raise InvalidRequest(f"X-Sandbox-Agent-Env must be an object of strings: {error}") from None
    profile = services.catalog.profile(text.decode("latin-1"))
    if profile is None:
        raise InvalidRequest("X-Sandbox-Agent-Env names no profile of the agents file")
    return profile


def _preferences(headers: Mapping[bytes, bytes]) -> tuple[bool, float | None]:
    """`Prefer: respond-async` and `Prefer: wait=SECONDS`; what cannot be read is ignored."""
    prefer = headers.get(b"prefer")
    if prefer is None:
        return False, None
    asynchronous, wait_s = False, None
    for part in prefer.replace(b";", b",").split(b","):
        name, _, value = part.strip().partition(b"=")
        name, value = name.strip().lower(), value.strip(b' "')
        if name == b"respond-async":
            asynchronous = True
        elif name == b"wait" and value.isdigit():
            wait_s = min(float(value), 1e9)
    return asynchronous, wait_s


class Waiting:
    """A reply that waits for the agent, and is kept alive on the way when that takes long."""

    __slots__ = ("_early", "_id", "_reply", "announced", "settled")

    def __init__(self, reply: Reply, raw_id: bytes, early: EarlyHeaders) -> None:
        self._reply = reply
        self._id = raw_id
        self._early = early
        self.announced = False
        self.settled = False

    def watch(self) -> None:
        if not self.settled:
            self._early.add(self)

    def keep_alive(self) -> None:
        if self.announced:
            self._reply.blank()
        else:
            self.announced = True
            self._reply.announce()

    def settle(self, answer: Answer) -> None:
        self.settled = True
        self._early.discard(self)
        if not isinstance(answer, SandboxAgentError):
            self._reply.answer(answer)
        elif self.announced:
            self._reply.answer(_as_json_rpc(self._id, answer))
        else:
            self._reply.refuse(answer)


def _as_json_rpc(raw_id: bytes, error: SandboxAgentError) -> bytes:
    """The status has gone out; what is left to say goes into a JSON-RPC error."""
    problem = msgspec.Raw(problems.encode(error))
    body = {
        "jsonrpc": "2.0",
        "id": msgspec.Raw(raw_id),
        "error": {"code": -32603, "message": error.detail, "data": problem},
    }
    return msgspec.json.encode(body)


class EarlyHeaders:
    """Sends headers and blanks for the replies that wait too long: one timer for all of them."""

    def __init__(self, after_s: float, interval_s: float) -> None:
        self._after_s = after_s
        self._interval_s = interval_s
        self._due: dict[Waiting, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, waiting: Waiting) -> None:
        loop = asyncio.get_running_loop()
        self._due[waiting] = loop.time() + self._after_s
        if self._timer is None:
            self._timer = loop.call_later(self._after_s, self._send)

    def discard(self, waiting: Waiting) -> None:
        self._due.pop(waiting, None)

    def _send(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for waiting, due in list(self._due.items()):
            if due <= now:
                self._due[waiting] = now + self._interval_s
                waiting.keep_alive()
        self._timer = None
        if self._due:
            self._timer = loop.call_at(min(self._due.values()), self._send)
