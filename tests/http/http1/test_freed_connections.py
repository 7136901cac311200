"""Closed connections and answered requests are freed at once, without the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import io
import weakref
from collections.abc import Callable, Iterator

import pytest

from sandbox_agent import logs
from sandbox_agent.http.access.access_check import AccessCheck
from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.messages import Message, Receive, Scope, Send
from sandbox_agent.settings import Settings
from tests.http.http1.http1_client import BOUND_S, Http1Client, asgi_handler

PADDING = b"x" * 60_000
HEAD = b"POST /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Padding: %b\r\nContent-Length: 4\r\n\r\n" % PADDING
ACCESS = AccessCheck(Settings(token="secret"))


def answers(exchange: Exchange) -> None:
    exchange.collect_body(100, lambda body: exchange.respond(200, [], body))


def refuses(exchange: Exchange) -> None:
    ACCESS.check(exchange.head.method, exchange.head.path, exchange.head.header_map)


def fails(exchange: Exchange) -> None:
    raise ZeroDivisionError("a fault")


def never_answers(exchange: Exchange) -> None:
    exchange.collect_body(100, lambda _: None)


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    started: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(started)
    await send({"type": "http.response.body", "body": b"ok"})


async def failing_application(scope: Scope, receive: Receive, send: Send) -> None:
    error = ZeroDivisionError("a fault")
    raise error


@pytest.fixture(autouse=True)
def no_collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # As in the server command: pytest keeps the exceptions of log records of the standard library.
    monkeypatch.setattr(logs, "_writer", logs._Writer(io.StringIO(), logs.DEBUG, logs._as_text))
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def handlers() -> dict[str, Callable[[], Callable[[Exchange], None]]]:
    return {
        "answered": lambda: answers,
        "refused": lambda: refuses,
        "failed": lambda: fails,
        "waiting": lambda: never_answers,
        "application": lambda: asgi_handler(application),
        "failed application": lambda: asgi_handler(failing_application),
    }


@pytest.mark.clause("security-H5")
@pytest.mark.parametrize("kind", handlers())
@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"body",
        HEAD + b"bo",
        HEAD[:50],
        b"nonsense\r\n\r\n",
        HEAD.replace(b"Host: localhost", b"Host: a\r\nHost: b"),
    ],
    ids=["whole", "cut body", "cut head", "nonsense", "faulty"],
)
async def test_a_closed_connection_is_freed(kind: str, data: bytes) -> None:
    client = Http1Client(handlers()[kind](), max_header_bytes=65536)
    await client.send(data)
    for _ in range(20):
        await asyncio.sleep(0)
    freed = weakref.ref(client.connection)
    client.socket.close()
    client.connection.abort()
    del client.connection
    async with asyncio.timeout(BOUND_S):
        while freed() is not None:  # noqa: ASYNC110 - the end of the connection has no event
            await asyncio.sleep(0)


@pytest.mark.clause("security-H5")
@pytest.mark.parametrize("kind", ["answered", "refused", "failed", "application", "failed application"])
async def test_an_idle_connection_holds_nothing_of_its_last_request(kind: str) -> None:
    client = Http1Client(handlers()[kind](), max_header_bytes=65536)
    await client.send(HEAD + b"body")
    await client.response()
    for _ in range(20):
        await asyncio.sleep(0)
    kept = [one for one in gc.get_objects() if isinstance(one, tuple) and PADDING in one]
    await client.close()
    assert not kept
