"""A reader of the server's event stream that accepts only the exact frames of the wire.

It reads a raw connection, decodes the chunked coding itself and rejects every frame that is not byte for byte
one of the legal forms. A test pauses the reader by not reading. The reader tells how the stream ended:
cleanly with the last chunk, or cut.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.clients.raw_http import DEFAULT_TIMEOUT, Client, Connection, ConnectionClosed

# On /acp an event has no name, as in the servers of the official SDKs.
REMOTE_MESSAGE = re.compile(rb"id: ([1-9][0-9]*)\ndata: ([^\r\n]*)\n\n", re.DOTALL)
MESSAGE = re.compile(rb"event: message\nid: ([1-9][0-9]*)\ndata: ([^\r\n]*)\n\n", re.DOTALL)
# Much smaller windows than this make loopback crawl.
SMALL_BUFFER = 128 * 1024
GAP = re.compile(rb'event: gap\ndata: \{"oldest":([0-9]+),"newest":([0-9]+)\}\n\n')
SERVER = re.compile(rb'event: (server|end)\ndata: (\{"serverId": [^\r\n]*\})\n\n')
HEARTBEAT = b": heartbeat\n\n"
STOPPING = b": server stopping\n\n"


class StreamEnded(Exception):
    """The server ended the stream with its final chunk."""


@dataclass(frozen=True)
class Event:
    """A message (with its number), a comment (data empty), or without a number: gap, server, end (JSON)."""

    kind: str
    number: int | None
    data: bytes

    def json(self) -> Any:
        return json.loads(self.data)


def parse_frame(frame: bytes, message: re.Pattern[bytes]) -> Event:
    if frame == HEARTBEAT:
        return Event("heartbeat", None, b"")
    if frame == STOPPING:
        return Event("stopping", None, b"")
    if match := message.fullmatch(frame):
        return Event("message", int(match[1]), match[2])
    if GAP.fullmatch(frame):
        return Event("gap", None, frame[len(b"event: gap\ndata: ") : -2])
    if match := SERVER.fullmatch(frame):
        return Event(match[1].decode(), None, match[2])
    raise AssertionError(f"not a frame of the wire: {frame[:300]!r}")


class EventStream:
    """One open `GET /v1/acp/{server_id}`; a small receive buffer makes a pause felt by the server soon.

    `path` names another stream, whose messages look like `message`; `headers` are added to the request.
    """

    def __init__(
        self,
        client: Client,
        server_id: str = "",
        *,
        last_event_id: str | int | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        receive_buffer: int | None = None,
        path: str | None = None,
        headers: dict[str, str] | None = None,
        message: re.Pattern[bytes] = MESSAGE,
    ) -> None:
        headers = {"accept": "text/event-stream", **(headers or {})}
        if last_event_id is not None:
            headers["last-event-id"] = str(last_event_id)
        self._message = message
        self.connection: Connection = client.connect(timeout, receive_buffer)
        try:
            self.connection.send(client.build("GET", path or f"/v1/acp/{server_id}", headers=headers))
            self.status, self.headers, self.head = self.connection.read_head()
            assert self.status == 200, self.head
        except BaseException:
            self.connection.close()
            raise
        self._text = bytearray()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    def next(self, timeout: float = DEFAULT_TIMEOUT) -> Event:
        """The next frame, heartbeats included."""
        deadline = time.monotonic() + timeout
        searched = 0
        while (end := self._text.find(b"\n\n", searched)) < 0:
            searched = max(0, len(self._text) - 1)
            self.connection.socket.settimeout(max(0.001, deadline - time.monotonic()))
            chunk = self.connection.read_chunk()
            if not chunk:
                assert not self._text, f"the stream ended inside a frame: {bytes(self._text[:200])!r}"
                raise StreamEnded
            self._text += chunk
        frame = bytes(self._text[: end + 2])
        del self._text[: end + 2]
        return parse_frame(frame, self._message)

    def next_message(self, timeout: float = DEFAULT_TIMEOUT) -> Event:
        """The next frame that is not a comment."""
        deadline = time.monotonic() + timeout
        while (event := self.next(max(0.001, deadline - time.monotonic()))).kind in ("heartbeat", "stopping"):
            pass
        return event

    def take(self, count: int, timeout: float = DEFAULT_TIMEOUT) -> list[Event]:
        deadline = time.monotonic() + timeout
        return [self.next_message(max(0.001, deadline - time.monotonic())) for _ in range(count)]

    def until(self, wanted: Any, timeout: float = DEFAULT_TIMEOUT) -> list[Event]:
        """All events up to and including the first for which `wanted(event)` is true."""
        deadline = time.monotonic() + timeout
        events: list[Event] = []
        while True:
            events.append(self.next_message(max(0.001, deadline - time.monotonic())))
            if wanted(events[-1]):
                return events

    def has_nothing_for(self, seconds: float) -> bool:
        """True if no message comes within the given time."""
        try:
            event = self.next_message(seconds)
        except TimeoutError:
            return True
        raise AssertionError(f"an unexpected event: {event}")

    def read_to_the_clean_end(self, timeout: float = DEFAULT_TIMEOUT) -> list[Event]:
        """Everything up to the final chunk; a connection that is cut instead is a failure."""
        deadline = time.monotonic() + timeout
        events: list[Event] = []
        try:
            while True:
                events.append(self.next_message(max(0.001, deadline - time.monotonic())))
        except StreamEnded:
            return events
        except ConnectionClosed as error:
            raise AssertionError("the stream was cut without its final chunk") from error

    def __iter__(self) -> Iterator[Event]:
        while True:
            yield self.next_message()


def method_is(name: str) -> Any:
    """A condition for `until`: a message whose JSON-RPC method is `name`."""
    mark = b'"method":"' + name.encode() + b'"'
    return lambda event: mark in event.data


def answers(request_id: int | str) -> Any:
    """A condition for `until`: the agent's answer to `request_id`."""
    mark = b'"id":' + json.dumps(request_id).encode() + b","
    return lambda event: mark in event.data and b'"method"' not in event.data.split(b'"result"')[0]
