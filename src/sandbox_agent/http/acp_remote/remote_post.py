"""POST /acp: `initialize` starts a connection; any other message goes to the agent of its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.jsonrpc import routing_fields
from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.acp import post as acp_post
from sandbox_agent.http.acp.post_options import check_content_type
from sandbox_agent.http.acp.reply import PostReply
from sandbox_agent.http.acp_remote.connection_start import read_bootstrap, start_headers
from sandbox_agent.http.acp_remote.connections import CONNECTION_ID
from sandbox_agent.http.acp_remote.session_header import read_session_id
from sandbox_agent.http.messages import Query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.bridge.jsonrpc.envelope import Envelope
    from sandbox_agent.bridge.jsonrpc.routing_fields import RoutingFields
    from sandbox_agent.bridge.pending_calls import Answer
    from sandbox_agent.http.messages import HeaderList
    from sandbox_agent.http.services import Services
    from sandbox_agent.http.sinks.response_sink import ResponseSink


class RemotePost:
    """One POST: its head, and where its response goes."""

    def __init__(
        self,
        services: Services,
        agent: str | None,
        raw_query: bytes,
        headers: Mapping[bytes, bytes],
        sink: ResponseSink,
        response_headers: HeaderList,
    ) -> None:
        """`agent` is the one in the path. Raises what is wrong with the head."""
        self._services = services
        self._headers = headers
        self._sink = sink
        self._response_headers = response_headers
        check_content_type(headers)
        self._agent = agent
        self._raw_query = raw_query

    def handle(self, body: bytes) -> None:
        """Answer the POST, now or later. Raises what is wrong with it."""
        message = acp_post.peek_body(body)
        if message is None:
            acp_post.read_in_thread(body, self._sink, lambda scanned: self._proceed(scanned, body))
        else:
            self._proceed(message, body)

    def _proceed(self, message: Envelope, body: bytes) -> None:
        is_object, raw_id, has_method = message
        if not is_object:
            raise InvalidRequest("request body must be a JSON-RPC object")
        fields = routing_fields.read(body)
        line = acp_post.as_one_line(body)
        if fields.method == "initialize" and raw_id:
            if self._headers.get(CONNECTION_ID):
                raise InvalidRequest("initialize starts a connection; this one has been initialized")
            self._initialize(fields, raw_id, line)
        else:
            self._send(raw_id, fields, line, has_method=has_method)

    def _initialize(self, fields: RoutingFields, raw_id: bytes, line: bytes) -> None:
        bootstrap = read_bootstrap(self._services, self._agent, Query(self._raw_query), self._headers)
        connections = self._services.remote_connections
        connection = connections.start_http(bootstrap)
        reply = PostReply(self._sink, [*self._response_headers, *start_headers(connection.id)])
        reply.raw_id = raw_id

        def answered(answer: Answer) -> None:
            if isinstance(answer, SandboxAgentError):
                connections.end(connection)
            reply.settle(answer)

        connection.instance.call(raw_id, line, answered, None)
        connection.router.request(fields, "")
        self._services.early_headers.watch(reply)

    def _send(self, raw_id: bytes, fields: RoutingFields, line: bytes, *, has_method: bool) -> None:
        connection = self._services.remote_connections.http(self._headers)
        session = connection.session_of(fields, read_session_id(self._headers))
        reply = PostReply(self._sink, self._response_headers)
        if raw_id and has_method:
            connection.call(raw_id, line)
            connection.router.request(fields, session)
            reply.accept()
        else:
            connection.instance.forward(raw_id, line, reply.settle_forwarded, None)
            if raw_id:
                connection.router.answered(fields)
