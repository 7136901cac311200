"""A client of `/v1/processes` for tests: plain requests, and the terminal's WebSocket."""

from __future__ import annotations

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.support.clients.raw_http import Answer, Client
from tests.support.processes import wait_until

JSON = {"content-type": "application/json"}
BOUND_S = 20.0


class Processes:
    def __init__(self, client: Client) -> None:
        self.client = client
        self._config: dict[str, int] | None = None

    def request(self, method: str, path: str = "", body: Any = None, **options: Any) -> Answer:
        encoded = None if body is None else json.dumps(body).encode()
        headers = {**({} if body is None else JSON), **options.pop("headers", {})}
        options.setdefault("timeout", BOUND_S)
        return self.client.request(method, f"/v1/processes{path}", headers=headers, body=encoded, **options)

    def ok(self, method: str, path: str = "", body: Any = None, **options: Any) -> Any:
        answer = self.request(method, path, body, **options)
        assert answer.status == 200, (answer.status, answer.body[:500])
        return answer.json()

    def create(self, command: str, *args: str, **more: Any) -> str:
        """Start a process; returns its id."""
        created: str = self.ok("POST", "", {"command": command, "args": list(args), **more})["id"]
        return created

    def shell(self, script: str, **more: Any) -> str:
        return self.create("sh", "-c", script, **more)

    def run(self, script: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.ok("POST", "/run", {"command": "sh", "args": ["-c", script], **more})
        return answer

    def info(self, process_id: str) -> dict[str, Any]:
        info: dict[str, Any] = self.ok("GET", f"/{process_id}")
        return info

    def wait_for_exit(self, process_id: str) -> dict[str, Any]:
        wait_until(lambda: self.info(process_id)["status"] == "exited", BOUND_S, "the exit of a process")
        return self.info(process_id)

    def output(self, process_id: str, query: str = "") -> bytes:
        entries = self.ok("GET", f"/{process_id}/logs{query}")["entries"]
        return b"".join(b64decode(entry["data"]) for entry in entries)

    def wait_for_output(self, process_id: str, wanted: bytes) -> None:
        wait_until(lambda: wanted in self.output(process_id), BOUND_S, f"the output {wanted!r}")

    def follow(self, process_id: str, query: str = "") -> list[tuple[str, Any]]:
        """The events of a followed log up to its end: names and data."""
        answer = self.request("GET", f"/{process_id}/logs?follow=true{query}")
        assert answer.status == 200 and answer.header("content-type") == "text/event-stream"
        return parse_events(answer.body)

    def set_config(self, **changes: int) -> None:
        before = self.ok("GET", "/config")
        self._config = self._config or before
        self.ok("POST", "/config", {**before, **changes})

    def clean_up(self) -> None:
        if self._config is not None:
            self.ok("POST", "/config", self._config)
        for row in self.ok("GET", "")["processes"]:
            self.request("POST", f"/{row['id']}/kill")
            self.request("DELETE", f"/{row['id']}")

    @contextmanager
    def terminal(self, process_id: str, query: str = "", **options: Any) -> Iterator[Terminal]:
        address = f"ws://{self.client.authority}/v1/processes/{process_id}/terminal/ws{query}"
        headers = {**self.client.auth(), **options.pop("headers", {})}
        with connect(
            address, additional_headers=headers, max_size=None, compression=None, **options
        ) as socket:
            yield Terminal(socket)


def parse_events(body: bytes) -> list[tuple[str, Any]]:
    events = []
    for frame in body.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.splitlines() if not line.startswith(":"))
        if fields:
            events.append((fields["event"], json.loads(fields["data"])))
    return events


def output_of(events: list[tuple[str, Any]]) -> bytes:
    return b"".join(b64decode(data["data"]) for name, data in events if name == "log")


@dataclass
class Terminal:
    """One socket to a terminal: what has arrived of output and control frames."""

    socket: ClientConnection
    output: bytearray = field(default_factory=bytearray)
    frames: list[dict[str, Any]] = field(default_factory=list)
    ended: bool = False

    def send(self, **frame: Any) -> None:
        self.socket.send(json.dumps(frame))

    def type(self, text: str) -> None:
        self.send(type="input", data=text)

    def read(self, timeout: float = BOUND_S) -> bool:
        """Take one frame; false at the end of the connection."""
        try:
            message = self.socket.recv(timeout)
        except ConnectionClosed:
            self.ended = True
            return False
        if isinstance(message, bytes):
            self.output += message
        else:
            self.frames.append(json.loads(message))
        return True

    def wait_for(self, wanted: bytes) -> None:
        deadline = time.monotonic() + BOUND_S
        while wanted not in self.output:
            assert time.monotonic() < deadline and self.read(), (
                f"no {wanted!r} in {bytes(self.output)[-2000:]!r}"
            )

    def wait_for_frame(self, kind: str) -> dict[str, Any]:
        deadline = time.monotonic() + BOUND_S
        while not (found := [frame for frame in self.frames if frame["type"] == kind]):
            assert time.monotonic() < deadline and self.read(), f"no {kind} in {self.frames}"
        return found[-1]

    def read_to_end(self) -> None:
        while self.read():
            pass
