"""A client of `/acp`, ACP's own remote transport, over HTTP: it sends exactly what a test says."""

from __future__ import annotations

import itertools
import json
from typing import Any

from tests.support.clients.acp import AGENT, JSON_HEADERS
from tests.support.clients.event_stream import REMOTE_MESSAGE, EventStream
from tests.support.clients.raw_http import Answer, Client

INITIALIZE = {"protocolVersion": 1, "clientCapabilities": {}}


def encode(method: str | None = None, request_id: Any = None, **more: Any) -> bytes:
    """A JSON-RPC message; `params`, `result` or `error` are given by name."""
    head = {} if request_id is None else {"id": request_id}
    named = {} if method is None else {"method": method}
    return json.dumps({"jsonrpc": "2.0", **head, **named, **more}).encode()


class RemoteConnection:
    """One connection to a scripted agent, which writes what the test tells it to write."""

    def __init__(self, client: Client, path: str = f"/acp?agent={AGENT}") -> None:
        self.client = client
        self.path = path
        self._ids = itertools.count(1)
        answer = self.initialize(client, path)
        assert answer.status == 200, answer.body
        self.handshake = answer
        self.id = answer.header("acp-connection-id") or ""

    @staticmethod
    def initialize(client: Client, path: str, **headers: str) -> Answer:
        body = encode("initialize", 0, params=INITIALIZE)
        return client.request("POST", path, headers={**JSON_HEADERS, **headers}, body=body)

    def headers(self, session: str | None = None) -> dict[str, str]:
        named = {} if session is None else {"acp-session-id": session}
        return {"acp-connection-id": self.id, **named}

    def post(self, body: bytes, session: str | None = None, **headers: str) -> Answer:
        fields = {**JSON_HEADERS, **self.headers(session), **headers}
        return self.client.request("POST", self.path, headers=fields, body=body)

    def request(self, method: str, session: str | None = None, **params: Any) -> int:
        """Send a request, which must be accepted; returns its id."""
        number = next(self._ids)
        answer = self.post(encode(method, number, params=params), session)
        assert (answer.status, answer.body) == (202, b""), answer.body
        return number

    def write(self, *lines: bytes, after_ms: int = 0) -> None:
        """Let the agent write lines, without an answer to this."""
        data = b"".join(line + b"\n" for line in lines)
        params = {"hex": data.hex(), "answer": False, "after_ms": after_ms}
        answer = self.post(encode("test/write", params=params))
        assert answer.status == 202, answer.body

    def update(self, session: str, text: str) -> bytes:
        """A session/update of the agent."""
        return encode("session/update", params={"sessionId": session, "text": text})

    def stream(
        self, session: str | None = None, last_event_id: int | None = None, **more: Any
    ) -> EventStream:
        return EventStream(
            self.client,
            path=self.path,
            headers=self.headers(session),
            last_event_id=last_event_id,
            message=REMOTE_MESSAGE,
            **more,
        )

    def open_stream_status(self, session: str | None = None, **headers: str) -> Answer:
        """The answer to a GET that does not open a stream."""
        fields = {"accept": "text/event-stream", **self.headers(session), **headers}
        return self.client.get(self.path, headers=fields)

    def delete(self) -> Answer:
        return self.client.request("DELETE", self.path, headers=self.headers())
