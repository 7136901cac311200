"""The sink under an ASGI server: order, flow control, failures, and clients that leave."""

from __future__ import annotations

import asyncio

import pytest

from sandbox_agent.http.messages import Message
from sandbox_agent.http.sinks.asgi_sink import AsgiSink

BOUND_S = 5


class Client:
    """The server's side of ASGI: collects what is sent, and disconnects on request."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.left = asyncio.Event()

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class Counter:
    """Writes numbers, one whenever the sink can take more, up to a limit."""

    def __init__(self, sink: AsgiSink, limit: int) -> None:
        self._sink = sink
        self._limit = limit
        self.written = 0
        self.was_disconnected = False

    def resume(self) -> None:
        while self._sink.can_write:
            if self.written == self._limit:
                self._sink.end()
                return
            self.written += 1
            self._sink.write_pieces([b"%d" % self.written, b" "])

    def disconnected(self) -> None:
        self.was_disconnected = True


async def run(sink: AsgiSink, client: Client) -> None:
    await asyncio.wait_for(sink.run(client.receive, client.send), BOUND_S)


async def test_a_whole_response_is_sent() -> None:
    sink, client = AsgiSink(), Client()
    sink.respond(200, [], b"{}")
    sink.respond(200, [], b"[]")
    await run(sink, client)
    assert client.sent[0]["status"] == 200
    assert client.body == b"{}"
    assert [message.get("more_body", False) for message in client.sent[1:]] == [True, False]


async def test_a_writer_is_resumed_when_everything_is_sent() -> None:
    sink, client = AsgiSink(), Client()
    writer = Counter(sink, 3)
    sink.attach(writer)
    sink.start(200, [])
    await run(sink, client)
    assert client.body == b"1 2 3 "
    assert writer.was_disconnected


@pytest.mark.parametrize("started", [False, True])
async def test_a_failure_is_raised_to_the_application(started: bool) -> None:
    sink, client = AsgiSink(), Client()
    if started:
        sink.start(200, [])
    sink.fail(ZeroDivisionError("a fault"))
    with pytest.raises(ZeroDivisionError):
        await run(sink, client)


async def test_a_client_that_leaves_ends_the_response() -> None:
    sink, client = AsgiSink(), Client()
    sink.start(200, [])
    running = asyncio.ensure_future(run(sink, client))
    client.left.set()
    await running
    sink.write(b"unheard")
    assert not sink.can_write
    assert client.body == b""
