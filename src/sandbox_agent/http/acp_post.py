"""POST /v1/acp/{server_id}: from a complete request to the agent's stdin, and from its answer to the reply.

Written with callbacks, so that the quick way through the server needs no task per message; the ASGI
application uses the same function with a reply of its own. The checks come in a documented order: the head
(`PostTerms`), the body, then the instance.
"""

from __future__ import annotations

from sandbox_agent.bridge import envelope as envelopes
from sandbox_agent.bridge import loops
from sandbox_agent.bridge.envelope import SCAN_IN_THREAD_ABOVE
from sandbox_agent.bridge.json_scan import NotJson
from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.early_headers import Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from sandbox_agent.bridge.envelope import Envelope
    from sandbox_agent.bridge.pending import Answer
    from sandbox_agent.http.post_terms import PostTerms
    from sandbox_agent.http.services import Services

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


def handle(services: Services, server_id: str, terms: PostTerms, body: bytes, reply: Reply) -> None:
    """Answer one POST through `reply`, now or later. Raises what is wrong with the body."""
    try:
        message = envelopes.peek_quickly(body)
        if message is None:
            if len(body) > SCAN_IN_THREAD_ABOVE:
                _scan_in_thread(services, server_id, terms, body, reply)
                return
            message = envelopes.peek_thoroughly(body)
    except NotJson as error:
        raise _invalid_body(error) from None
    _proceed(services, server_id, terms, message, body, reply)


def _invalid_body(error: object) -> InvalidRequest:
    return InvalidRequest(f"invalid JSON body: {error}")


def _scan_in_thread(services: Services, server_id: str, terms: PostTerms, body: bytes, reply: Reply) -> None:
    def scanned(message: Envelope | None, error: BaseException | None) -> None:
        if message is None:
            reply.refuse(_invalid_body(error))
            return
        try:
            _proceed(services, server_id, terms, message, body, reply)
        except SandboxAgentError as refusal:
            reply.refuse(refusal)

    loops.in_thread(lambda: envelopes.peek_thoroughly(body), scanned)


def _proceed(
    services: Services, server_id: str, terms: PostTerms, message: Envelope, body: bytes, reply: Reply
) -> None:
    if not message.is_object:
        raise InvalidRequest("request body must be a JSON-RPC object")
    instance = services.instances.for_post(server_id, terms.bootstrap(services))
    if b"\n" in body or b"\r" in body:
        # Line ends stand between tokens only; the pipe is framed by them, so they become blanks.
        body = body.replace(b"\n", b" ").replace(b"\r", b" ")
    if not message.is_request:

        def forwarded(answer: Answer) -> None:
            if isinstance(answer, SandboxAgentError):
                reply.refuse(answer)
            else:
                reply.accept()

        instance.forward(message, body, forwarded, terms.wait_s)
    elif terms.asynchronous:
        instance.call(message, body, None, terms.wait_s)
        reply.accept()
    else:
        waiting = Waiting(reply, message.id, services.early_headers)
        instance.call(message, body, waiting.settle, terms.wait_s)
        waiting.watch()
