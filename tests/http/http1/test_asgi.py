"""An ASGI application behind `http1`: its scope, its messages, and what happens when it misbehaves."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sandbox_agent.http.http1.connection import ConnectionState
from sandbox_agent.http.http1.sockets.listener import Listener
from sandbox_agent.http.messages import Message, Receive, Scope, Send
from tests.http.http1.http1_client import BOUND_S, GET, Http1Client, asgi_handler
from tests.support.polling import eventually


def start(*headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": 200, "headers": list(headers)}


async def test_the_scope_is_complete() -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await send(start((b"content-length", b"0")))
        await send({"type": "http.response.body"})

    client = Http1Client(asgi_handler(app, mark=1))
    await client.send(GET.replace(b"/a%20b", b"/a%20b/%C3%A9%2F"))
    await client.response()
    await client.close()
    (scope,) = scopes
    assert (scope["type"], scope["method"], scope["scheme"]) == ("http", "GET", "http")
    assert (scope["http_version"], scope["root_path"], scope["query_string"]) == ("1.1", "", b"q=1")
    assert (scope["path"], scope["raw_path"]) == ("/a b/é/", b"/a%20b/%C3%A9%2F")
    assert scope["headers"] == [(b"host", b"localhost")]
    assert scope["extensions"] == {"mark": 1}
    assert scope["client"] is None and scope["server"] is None  # a socket pair has no addresses


async def test_the_scope_names_both_ends_of_the_connection() -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await send(start((b"content-length", b"0")))
        await send({"type": "http.response.body"})

    client = Http1Client(asgi_handler(app))
    loop: Any = asyncio.get_running_loop()
    listener = Listener(loop, "127.0.0.1", 0, client.server._accept, client.server._refuse_now)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(GET)
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND_S)
    assert scopes[0]["client"] == writer.get_extra_info("sockname")
    assert scopes[0]["server"] == ("127.0.0.1", listener.port)
    writer.close()
    listener.close()
    await client.close()


async def test_body_and_disconnect_are_received_once() -> None:
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        messages.append(await receive())
        await send(start((b"content-length", b"2")))
        await send({"type": "http.response.body", "body": b"ok"})
        messages.append(await receive())

    client = Http1Client(asgi_handler(app))
    await client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody")
    assert (await client.response())[1] == b"ok"
    assert messages[0] == {"type": "http.request", "body": b"body", "more_body": False}
    await eventually(lambda: len(messages) == 2, BOUND_S)
    assert messages[1] == {"type": "http.disconnect"}
    await client.close()


async def test_a_response_of_unknown_length_is_chunked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})

    client = Http1Client(asgi_handler(app))
    await client.send(GET)
    head = await client.read_until(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert await client.read_until(b"0\r\n\r\n") == b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"
    await client.close()


@pytest.mark.parametrize(
    "header",
    [(b"x", b"a\r\nset-cookie: b"), (b"x", b"a\nb"), (b"x", b"a\0"), (b"x y", b"a"), (b"", b"a")],
)
async def test_an_invalid_header_is_a_500_problem(header: tuple[bytes, bytes]) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(header))
        await send({"type": "http.response.body", "body": b"never"})

    client = Http1Client(asgi_handler(app))
    await client.send(GET)
    head, body = await client.response()
    assert head.startswith(b"HTTP/1.1 500 ") and b"set-cookie" not in head
    assert json.loads(body)["status"] == 500
    await client.close()


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    raise ZeroDivisionError("a fault")


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    """Returns without a response."""


@pytest.mark.parametrize("app", [failing, silent])
async def test_an_application_without_a_response_is_a_500_problem(app: Any) -> None:
    client = Http1Client(asgi_handler(app))
    await client.send(GET)
    assert (await client.response())[0].startswith(b"HTTP/1.1 500 ")
    await client.close()


async def test_a_response_that_is_cut_short_breaks_the_connection() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start())
        await send({"type": "http.response.body", "body": b"half", "more_body": True})

    client = Http1Client(asgi_handler(app))
    await client.send(GET)
    assert not (await client.read_until(b"")).endswith(b"0\r\n\r\n")
    await client.wait_for_state(ConnectionState.CLOSED)
    await client.close()
