"""POST /v1/acp/{server_id}: from a complete request to the agent's stdin, and from its answer to the reply.

Callbacks instead of a task per message: a task costs more than everything else on this path. The checks come
in a documented order: the head (`PostOptions`), the body, then the instance.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc.envelope import SCAN_IN_THREAD_ABOVE
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.bridge.stdio.split_lines import CR, LF
from sandbox_agent.errors import InternalError, InvalidRequest
from sandbox_agent.http.sinks.step_guard import run_guarded
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.jsonrpc.envelope import Envelope
    from sandbox_agent.http.acp.post_options import PostOptions
    from sandbox_agent.http.acp.reply import PostReply
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.sinks.response_sink import ResponseSink


def handle(services: Services, server_id: str, options: PostOptions, body: bytes, reply: PostReply) -> None:
    """Answer one POST through `reply`, now or later. Raises what is wrong with the body."""
    message = peek_body(body)
    if message is None:
        read_in_thread(body, reply.sink, partial(_proceed, services, server_id, options, body, reply))
    else:
        _proceed(services, server_id, options, body, reply, message)


def peek_body(body: bytes) -> Envelope | None:
    """The envelope of a body; None if `read_in_thread` has to read it. Raises what is wrong with the body."""
    message = envelopes.peek_quickly(body)
    if message is not None or len(body) > SCAN_IN_THREAD_ABOVE:
        return message
    try:
        return envelopes.peek_thoroughly(body)
    except NotJson as error:
        raise _invalid_body(error) from None


def as_one_line(body: bytes) -> bytes:
    """Replace line ends, which stand between tokens only, by spaces: the pipe is framed by lines."""
    if LF not in body and CR not in body:
        return body
    return body.replace(b"\n", b" ").replace(b"\r", b" ")


def _invalid_body(error: object) -> InvalidRequest:
    return InvalidRequest(f"invalid JSON body: {error}")


def read_in_thread(body: bytes, sink: ResponseSink, proceed: Callable[[Envelope], None]) -> None:
    """Call `proceed` with the envelope of a long body; what it raises fails the response."""

    def was_read(message: Envelope | None, error: BaseException | None) -> None:
        if isinstance(error, NotJson):
            raise _invalid_body(error)
        if message is None:
            raise error or InternalError()
        proceed(message)

    running_loop.in_thread(
        lambda: envelopes.peek_in_thread(body), lambda *outcome: run_guarded(sink, was_read, *outcome)
    )


def _proceed(
    services: Services, server_id: str, options: PostOptions, body: bytes, reply: PostReply, message: Envelope
) -> None:
    is_object, raw_id, has_method = message
    if not is_object:
        raise InvalidRequest("request body must be a JSON-RPC object")
    body = as_one_line(body)
    bootstrap = options.bootstrap(services) if options.agent is not None else None
    instance = services.instances.for_post(server_id, bootstrap)
    if bootstrap is not None:
        reply.instance = instance
    key = options.idempotency_key
    if key is not None and instance.has_accepted(key):
        reply.accept()
        return
    if not (raw_id and has_method):
        instance.forward(raw_id, body, reply.settle_forwarded, options.wait_s)
    elif options.asynchronous:
        instance.call(raw_id, body, None, options.wait_s)
        reply.accept()
    else:
        reply.raw_id = raw_id
        instance.call(raw_id, body, reply.settle, options.wait_s)
        services.early_headers.watch(reply)
    if key is not None:
        instance.remember_key(key)
