"""How httptools, h11 and uvicorn read the bytes of a connection: their requests, and where they give up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import h11
import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

Seen = tuple[str, bytes, bytes]
"""Method, target and body of a request that has arrived as a whole."""


class Reading(NamedTuple):
    requests: list[Seen]
    refused: bool
    """Whether the reader gave up before the end of the bytes."""


class _HttptoolsReader:
    """One parser for a connection."""

    def __init__(self) -> None:
        self.requests: list[Seen] = []
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        self.target, self.body = b"", b""

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.requests.append((self.parser.get_method().decode(), self.target, self.body))


def read_with_httptools(pieces: Sequence[bytes]) -> Reading:
    reader = _HttptoolsReader()
    try:
        for piece in pieces:
            rest = piece
            while rest:
                try:
                    reader.parser.feed_data(rest)
                    rest = b""
                except httptools.HttpParserUpgrade as upgrade:
                    rest = rest[upgrade.args[0] :]
                    reader.parser = httptools.HttpRequestParser(reader)
    except httptools.HttpParserError:
        return Reading(reader.requests, True)
    return Reading(reader.requests, False)


def read_with_h11(pieces: Sequence[bytes]) -> Reading:
    """h11 reads one request per connection object here, so that none of its own answers are needed."""
    requests: list[Seen] = []
    data = b"".join(pieces).lstrip(b"\r\n")  # RFC 9112, 2.2: empty lines are ignored; h11 does not.
    while data:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        connection.receive_data(data)
        request, body = None, b""
        try:
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    return Reading(requests, False)
        except h11.RemoteProtocolError:
            return Reading(requests, True)
        assert request is not None
        requests.append((request.method.decode(), request.target, body))
        data = connection.trailing_data[0].lstrip(b"\r\n")
    return Reading(requests, False)


class _Transport(asyncio.Transport):
    """Takes what uvicorn writes; nothing is connected to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


def read_with_uvicorn(pieces: Sequence[bytes]) -> Reading:
    """What an application under uvicorn gets; uvicorn closes the connection when it cannot read on."""
    return asyncio.run(_read_with_uvicorn(pieces))


async def _read_with_uvicorn(pieces: Sequence[bytes]) -> Reading:
    requests: list[Seen] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        requests.append((scope["method"], scope["raw_path"] + query, body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    config = uvicorn.Config(application, http="httptools", lifespan="off", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    protocol = HttpToolsProtocol(config, state, {})
    transport = _Transport()
    protocol.connection_made(transport)
    for piece in pieces:
        if not transport.closed:
            protocol.data_received(piece)
    while state.tasks and not _waits_for_bytes(protocol):  # noqa: ASYNC110 - uvicorn has no event for it
        await asyncio.sleep(0)
    refused = b"HTTP/1.1 400" in transport.written
    protocol.connection_lost(None)
    while state.tasks:  # noqa: ASYNC110 - they end now
        await asyncio.sleep(0)
    return Reading(requests, refused)


def _waits_for_bytes(protocol: HttpToolsProtocol) -> bool:
    """Whether the application waits for the rest of a body that is not going to come."""
    cycle = protocol.cycle
    return cycle is not None and not cycle.response_complete and cycle.more_body and not cycle.body
