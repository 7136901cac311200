"""A client of the ACP routes for tests: post, call, notify, delete, stream, list.

It adds only the headers that every client sends. Calls that wait can run in a thread (`in_background`), so
that the test itself needs no callbacks.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import quote

from tests.support.clients.event_stream import EventStream
from tests.support.clients.raw_http import DEFAULT_TIMEOUT, Answer, Client, Connection
from tests.support.processes import wait_until

T = TypeVar("T")
AGENT = os.environ.get("SANDBOX_AGENT_CONFORMANCE_AGENT", "amp")
JSON_HEADERS = {"content-type": "application/json", "accept": "application/json"}


def message(method: str, params: Any = None, request_id: Any = None) -> bytes:
    """A request, or a notification when there is no id."""
    envelope: dict[str, Any] = {"jsonrpc": "2.0"}
    if request_id is not None:
        envelope["id"] = request_id
    return json.dumps({**envelope, "method": method, "params": params or {}}).encode()


class Acp:
    def __init__(self, client: Client) -> None:
        self.client = client
        self._ids = itertools.count(1)
        self._threads = ThreadPoolExecutor(max_workers=256)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def in_background(self, function: Callable[..., T], *args: Any, **options: Any) -> Future[T]:
        return self._threads.submit(function, *args, **options)

    @staticmethod
    def new_id() -> str:
        return "t-" + secrets.token_hex(6)

    @staticmethod
    def path(server_id: str, agent: str | None = None) -> str:
        query = "" if agent is None else f"?agent={agent}"
        return f"/v1/acp/{quote(server_id, safe='')}{query}"

    def post(
        self,
        server_id: str,
        body: bytes | dict[str, Any],
        *,
        agent: str | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields = {**JSON_HEADERS, **(headers or {})}
        return self.client.request(
            "POST", self.path(server_id, agent), headers=fields, body=data, timeout=timeout
        )

    def open_post(self, server_id: str, body: bytes, headers: dict[str, str] | None = None) -> Connection:
        """Send a POST and leave its answer to be read later."""
        connection = self.client.connect()
        fields = {**JSON_HEADERS, **(headers or {})}
        connection.send(self.client.build("POST", self.path(server_id), headers=fields, body=body))
        return connection

    def send(
        self, server_id: str, method: str, params: Any = None, *, request_id: Any = None, **options: Any
    ) -> Answer:
        """Post a request whose id is new unless given, and return the answer as it is."""
        number = next(self._ids) if request_id is None else request_id
        return self.post(server_id, message(method, params, number), **options)

    def call(self, server_id: str, method: str, params: Any = None, **options: Any) -> Any:
        """Like `send`, but it must succeed: returns the agent's `result`."""
        answer = self.send(server_id, method, params, **options)
        assert answer.status == 200, (answer.status, answer.body[:2000])
        return answer.json()["result"]

    def notify(self, server_id: str, method: str, params: Any = None, **options: Any) -> None:
        answer = self.post(server_id, message(method, params), **options)
        assert answer.status == 202, (answer.status, answer.body[:2000])

    def start(self, server_id: str | None = None, agent: str = AGENT) -> str:
        """A new instance with a living agent; returns its id."""
        server_id = server_id or self.new_id()
        self.call(server_id, "test/echo", agent=agent)
        return server_id

    def delete(self, server_id: str, timeout: float = DEFAULT_TIMEOUT) -> Answer:
        return self.client.request("DELETE", self.path(server_id), timeout=timeout)

    def stream(self, server_id: str, last_event_id: str | int | None = None, **options: Any) -> EventStream:
        return EventStream(self.client, quote(server_id, safe=""), last_event_id=last_event_id, **options)

    def list(self) -> list[dict[str, Any]]:
        answer = self.client.get("/v1/acp")
        assert answer.status == 200, answer.body
        servers: list[dict[str, Any]] = answer.json()["servers"]
        return servers

    def wait_until_pending(self, server_id: str, count: int) -> None:
        """Wait until `count` requests have reached the instance and are waiting for their answers.

        A server that does not list pending requests gets a fifth of a second instead.
        """
        row = self.entry(server_id)
        if row is not None and "pendingRequests" not in row:
            time.sleep(0.2)
            return
        wait_until(
            lambda: (self.entry(server_id) or {}).get("pendingRequests") == count,
            5,
            f"{count} pending requests",
        )

    def entry(self, server_id: str) -> dict[str, Any] | None:
        """The row of one instance in the listing."""
        return next((row for row in self.list() if row["serverId"] == server_id), None)
