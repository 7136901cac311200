"""WebSockets behind `http1`: handshake, messages, flow control, pings, close codes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.http1.websocket.asgi_websocket import AsgiWebSocketRun
from sandbox_agent.http.messages import Message, Receive, Scope, Send
from tests.http.http1.http1_client import BOUND_S, Http1Client
from tests.support.polling import eventually

if TYPE_CHECKING:
    from sandbox_agent.http.http1.asgi import AsgiApplication

MIB = 1024 * 1024
HANDSHAKE = (
    b"GET /chat?q=1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def websocket_handler(application: AsgiApplication) -> Callable[[Exchange], None]:
    tasks: set[asyncio.Task[None]] = set()
    return lambda exchange: cast(None, AsgiWebSocketRun(exchange, application, tasks, {"mark": 1}))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    assert (await receive())["type"] == "websocket.connect"
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})


@asynccontextmanager
async def connected(
    application: AsgiApplication, http1: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[ClientConnection, Http1Client]]:
    client = Http1Client(websocket_handler(application), **(http1 or {}))
    options = {"ping_interval": None, "max_size": None, "close_timeout": BOUND_S, **options}
    async with connect("ws://localhost/chat?q=1", sock=client.socket, compression=None, **options) as peer:
        yield peer, client
    await eventually(lambda: not client.server._connections, BOUND_S)


async def test_the_scope_is_complete() -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await echo(scope, receive, send)

    async with connected(app, subprotocols=["one", "two"]) as (peer, _):
        assert peer.subprotocol is None
    (scope,) = scopes
    assert (scope["type"], scope["scheme"], scope["path"]) == ("websocket", "ws", "/chat")
    assert (scope["query_string"], scope["subprotocols"]) == (b"q=1", ["one", "two"])
    assert scope["extensions"] == {"mark": 1, "websocket.http.response": {}}
    assert "method" not in scope


async def test_text_and_bytes_come_back_as_they_are() -> None:
    async with connected(echo) as (peer, _):
        for message in ("", "äöü €", b"", bytes(range(256)), "x" * 70_000, b"y" * (3 * MIB)):
            await peer.send(message)
            assert await asyncio.wait_for(peer.recv(), BOUND_S) == message


async def test_a_fragmented_message_is_joined_and_pings_between_are_answered() -> None:
    async with connected(echo) as (peer, _):

        async def parts() -> AsyncIterator[str]:
            yield "one "
            await asyncio.wait_for(await peer.ping(), BOUND_S)
            yield "two"

        await peer.send(parts())
        assert await asyncio.wait_for(peer.recv(), BOUND_S) == "one two"


async def test_the_application_chooses_a_subprotocol_and_adds_headers() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept", "subprotocol": "two", "headers": [(b"x-extra", b"1")]})
        await send({"type": "websocket.close", "code": 4000, "reason": "enough"})

    async with connected(app, subprotocols=["one", "two"]) as (peer, _):
        assert peer.subprotocol == "two"
        assert peer.response is not None and peer.response.headers["x-extra"] == "1"
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(peer.recv(), BOUND_S)
        assert (peer.close_code, peer.close_reason) == (4000, "enough")


async def test_frames_that_arrive_with_the_handshake_are_read() -> None:
    client = Http1Client(websocket_handler(echo))
    frame = Frame(Opcode.TEXT, b"early").serialize(mask=True)
    await client.send(HANDSHAKE + frame)
    head = await client.read_until(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ") and b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    assert await client.read_until(b"early") == b"\x81\x05early"
    client.socket.close()
    await eventually(lambda: not client.server._connections, BOUND_S)


@pytest.mark.parametrize(
    "wrong",
    [
        (b"Sec-WebSocket-Version: 13\r\n", b""),
        (b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: 12"),
        (b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b""),
        (b"dGhlIHNhbXBsZSBub25jZQ==", b"short"),
        (b"Version: 13", b"Version: 13\r\nSec-WebSocket-Version: 13"),
        (b"Connection: keep-alive, Upgrade", b"Connection: keep-alive"),
    ],
)
async def test_a_handshake_that_is_none_is_400_and_the_next_request_follows(
    wrong: tuple[bytes, bytes],
) -> None:
    client = Http1Client(websocket_handler(echo))
    for _ in range(2):
        await client.send(HANDSHAKE.replace(*wrong))
        head, body = await client.response()
        assert head.startswith(b"HTTP/1.1 400 ") and b"application/problem+json" in head
        assert b"not a WebSocket handshake" in body
    await client.close()


async def test_a_refusal_is_an_ordinary_response_and_the_next_request_follows() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"2")]
        await send({"type": "websocket.http.response.start", "status": 404, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": b"no"})

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE * 2)  # the second one is pipelined, and no frame
    for _ in range(2):
        head, body = await client.response()
        assert head.startswith(b"HTTP/1.1 404 ") and body == b"no"
    await client.close()


async def test_a_close_without_an_accept_is_403() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.close"})

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE)
    assert (await client.response())[0].startswith(b"HTTP/1.1 403 ")
    await client.close()


async def test_an_application_that_fails_first_is_500_and_later_closes_with_1011() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError

    client = Http1Client(websocket_handler(fails))
    await client.send(HANDSHAKE)
    assert (await client.response())[0].startswith(b"HTTP/1.1 500 ")
    await client.close()

    async def fails_later(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        raise ZeroDivisionError

    async with connected(fails_later) as (peer, _):
        await asyncio.wait_for(peer.wait_closed(), BOUND_S)
        assert peer.close_code == 1011


async def test_the_close_frame_of_the_client_is_answered_and_told() -> None:
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        told.append(await receive())

    async with connected(app) as (peer, _):
        await peer.close(4001, "bye")
        assert peer.protocol.close_rcvd is not None and peer.protocol.close_rcvd.code == 4001
    assert told == [{"type": "websocket.disconnect", "code": 4001, "reason": "bye"}]


async def test_a_client_that_vanishes_is_1006() -> None:
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        told.append(await receive())
        with pytest.raises(ConnectionResetError):
            await send({"type": "websocket.send", "text": "too late"})
        told.append({"type": "done"})

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE)
    await client.read_until(b"\r\n\r\n")
    client.socket.close()
    await eventually(lambda: len(told) == 2, BOUND_S)
    assert told[0] == {"type": "websocket.disconnect", "code": 1006, "reason": ""}


async def test_a_client_that_leaves_before_the_accept_is_told() -> None:
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        told.append(await receive())

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE + b"x")  # Unread bytes: the end is a reset.
    await eventually(lambda: client.connection._exchange is not None, BOUND_S)
    await client.close()
    await eventually(lambda: bool(told), BOUND_S)
    assert told[0]["code"] == 1006


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        pytest.param(Frame(Opcode.TEXT, b"\xff").serialize(mask=True), 1007, id="not UTF-8"),
        pytest.param(b"\x81\x01x", 1002, id="unmasked"),
        pytest.param(Frame(Opcode.CONT, b"stray").serialize(mask=True), 1002, id="stray continuation"),
        pytest.param(b"\xc1\x80\0\0\0\0", 1002, id="reserved bit"),
        pytest.param(b"\x83\x80\0\0\0\0", 1002, id="unknown opcode"),
        pytest.param(Frame(Opcode.BINARY, b"x" * 1001).serialize(mask=True), 1009, id="too large"),
        pytest.param(b"\x82\xff\x7f" + b"\xff" * 7 + b"\0" * 4, 1009, id="announced as much too large"),
    ],
)
@pytest.mark.clause("websocket-lifetime")
async def test_what_breaks_the_protocol_gets_a_close_frame_with_its_code(frame: bytes, code: int) -> None:
    client = Http1Client(websocket_handler(echo), websocket_max_bytes=1000)
    await client.send(HANDSHAKE)
    await client.read_until(b"\r\n\r\n")
    await client.send(frame)
    rest = await client.read_until(b"")
    assert rest[:1] == b"\x88" and int.from_bytes(rest[2:4], "big") == code
    client.socket.close()
    await eventually(lambda: not client.server._connections, BOUND_S)


@pytest.mark.clause("websocket-flow-control")
async def test_fragments_count_together_for_the_limit() -> None:
    client = Http1Client(websocket_handler(echo), websocket_max_bytes=1000)
    await client.send(HANDSHAKE)
    await client.read_until(b"\r\n\r\n")
    await client.send(Frame(Opcode.TEXT, b"x" * 600, fin=False).serialize(mask=True))
    await client.send(Frame(Opcode.CONT, b"x" * 600).serialize(mask=True))
    assert (await client.read_until(b""))[2:4] == (1009).to_bytes(2, "big")
    client.socket.close()


@pytest.mark.clause("websocket-flow-control")
async def test_a_client_that_does_not_read_pauses_the_application() -> None:
    sent = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        await receive()
        await send({"type": "websocket.accept"})
        for _ in range(64):
            await send({"type": "websocket.send", "bytes": bytes(MIB // 4)})
            sent += 1
        await send({"type": "websocket.close"})

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE)
    await client.read_until(b"\r\n\r\n")
    (connection,) = client.server._connections
    await eventually(lambda: not cast(Any, connection).can_write, BOUND_S)
    paused_at = sent
    for _ in range(50):
        await asyncio.sleep(0)
    assert sent == paused_at < 16
    received = len(client.received)
    loop = asyncio.get_running_loop()
    while data := await asyncio.wait_for(loop.sock_recv(client.socket, MIB), BOUND_S):
        received += len(data)
        if data.endswith(b"\x88\x02\x03\xe8"):
            break
    assert received == 64 * (MIB // 4 + 10) + 4
    client.socket.close()
    await eventually(lambda: not client.server._connections, BOUND_S)


@pytest.mark.clause("websocket-flow-control")
async def test_an_application_that_does_not_receive_pauses_the_client() -> None:
    may_read = asyncio.Event()
    received: list[int] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await may_read.wait()
        while (message := await receive())["type"] == "websocket.receive":
            received.append(len(message["bytes"]))

    async with connected(app) as (peer, client):
        (connection,) = client.server._connections
        sending = asyncio.create_task(_send_many(peer, 64))
        await eventually(lambda: not cast(Any, connection).is_reading, BOUND_S)
        assert cast(Any, connection)._waiting_bytes < 3 * MIB
        assert not sending.done()
        may_read.set()
        await asyncio.wait_for(sending, BOUND_S)
        await eventually(lambda: len(received) == 64, BOUND_S)


async def _send_many(peer: ClientConnection, count: int) -> None:
    for _ in range(count):
        await peer.send(bytes(MIB // 4))


@pytest.mark.clause("websocket-lifetime")
async def test_a_silent_client_is_pinged_and_then_given_up() -> None:
    client = Http1Client(websocket_handler(echo), websocket_ping_s=10.0)
    await client.send(HANDSHAKE)
    await client.read_until(b"\r\n\r\n")
    (connection,) = client.server._connections
    now = asyncio.get_running_loop().time()
    connection.check_time(now + 9)
    connection.check_time(now + 11)
    connection.check_time(now + 12)
    assert await client.read_until(b"\x89\0") == b"\x89\0"  # one ping
    await client.send(Frame(Opcode.PONG, b"").serialize(mask=True))
    await eventually(lambda: not cast(Any, connection)._is_pinged, BOUND_S)
    connection.check_time(now + 11)
    connection.check_time(now + 60)
    assert await client.read_until(b"") == b"\x89\0"
    client.socket.close()
    await eventually(lambda: not client.server._connections, BOUND_S)


async def test_a_client_that_does_not_answer_a_close_frame_is_given_up() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 1000})
        assert (await receive())["type"] == "websocket.connect"
        assert (await receive())["code"] == 1000

    client = Http1Client(websocket_handler(app))
    await client.send(HANDSHAKE)
    await client.read_until(b"\x88\x02\x03\xe8")
    (connection,) = client.server._connections
    now = asyncio.get_running_loop().time()
    connection.check_time(now)
    connection.check_time(now + 4)
    assert client.server._connections
    connection.check_time(now + 6)
    await eventually(lambda: not client.server._connections, BOUND_S)
    client.socket.close()


@pytest.mark.clause("websocket-lifetime")
async def test_a_server_that_stops_closes_with_1001() -> None:
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        told.append(await receive())

    async with connected(app) as (peer, client):
        client.server.stop_accepting()
        await asyncio.wait_for(peer.wait_closed(), BOUND_S)
        assert peer.close_code == 1001
    assert told[0]["code"] == 1001


async def test_the_rest_of_a_message_that_is_too_long_is_discarded() -> None:
    client = Http1Client(websocket_handler(echo), websocket_max_bytes=1000)
    frame = Frame(Opcode.BINARY, b"x" * (4 * MIB)).serialize(mask=True)
    await client.send(HANDSHAKE + frame[:100])
    assert (await client.read_until(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
    assert (await client.read_until(b"\x03\xf1")).startswith(b"\x88"), "a close frame with 1009"
    await client.send(frame[100:])  # raises if the server has closed its socket
    client.socket.close()
    await eventually(lambda: not client.server._connections, BOUND_S)
