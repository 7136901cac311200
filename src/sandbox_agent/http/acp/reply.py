"""The answer to a POST: settled once by the agent, kept alive by `EarlyHeaders` when that takes long."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http.messages import JSON
from sandbox_agent.http.sinks.step_guard import run_guarded
from sandbox_agent.jsonrpc_error_codes import INTERNAL_ERROR

if TYPE_CHECKING:
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.pending_calls import Answer
    from sandbox_agent.http.acp.early_headers import EarlyHeaders
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.sinks.response_sink import ResponseSink

_CONTENT_TYPE = (b"content-type", JSON)
_CREATED_AT = b"x-sandbox-agent-created-at-ms"


class PostReply:
    __slots__ = (
        "_headers",
        "_headers_sent",
        "early_headers",
        "instance",
        "raw_id",
        "sink",
    )

    def __init__(self, sink: ResponseSink, headers: HeaderList) -> None:
        """`headers` are added to those of the response."""
        self.sink = sink
        self._headers = headers
        self._headers_sent = False
        """The headers of a 200 have been sent before there is a body."""
        self.raw_id = b""
        """The id of the request, as the client spelled it."""
        self.instance: Instance | None = None
        """The instance of a POST with `agent`; the response says since when it runs."""
        self.early_headers: EarlyHeaders | None = None
        """What watches this reply while it waits."""

    def settle(self, answer: Answer) -> None:
        """The agent has answered the request, or cannot."""
        if self.early_headers is not None:
            self.early_headers.due.pop(self, None)
        sink = self.sink
        try:  # The same as `run_guarded`, without a call more for every request.
            if self._headers_sent:
                if isinstance(answer, SandboxAgentError):
                    answer = as_json_rpc(self.raw_id, answer)
                sink.write(answer)
                sink.end()
            elif isinstance(answer, SandboxAgentError):
                sink.fail(answer)
            else:
                sink.respond(200, self._answer_headers(), answer)
        except Exception as error:
            sink.fail(error)

    def settle_forwarded(self, answer: Answer) -> None:
        """A message that is not answered has been written to the agent, or cannot be."""
        if isinstance(answer, SandboxAgentError):
            self.sink.fail(answer)
        else:
            run_guarded(self.sink, self.accept)

    def accept(self) -> None:
        """202 without a body."""
        self.sink.respond(202, self._headers)

    def send_filler(self) -> None:
        """Send the headers of a 200, or after that a space: clients give up after minutes without a byte."""
        run_guarded(self.sink, self._send_filler)

    def _send_filler(self) -> None:
        if self._headers_sent:
            self.sink.write(b" ")
        else:
            self._headers_sent = True
            self.sink.start(200, self._answer_headers())

    def _answer_headers(self) -> HeaderList:
        headers = [_CONTENT_TYPE, *self._headers]
        if self.instance is not None:
            headers.append((_CREATED_AT, str(self.instance.created_at_ms).encode()))
        return headers


def as_json_rpc(raw_id: bytes, error: SandboxAgentError, code: int = INTERNAL_ERROR) -> bytes:
    """The error as a JSON-RPC response, for a client that gets no status of it."""
    import msgspec  # here and not at start-up, where it takes 15 ms

    from sandbox_agent.http import problems

    problem = problems.document(error)
    body = {
        "jsonrpc": "2.0",
        "id": msgspec.Raw(raw_id),
        "error": {"code": code, "message": problem.detail, "data": problem},
    }
    return msgspec.json.encode(body)
