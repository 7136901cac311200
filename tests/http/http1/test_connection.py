"""The states of a connection, and that every failure ends in an answer or in a broken connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sandbox_agent.errors import InternalError
from sandbox_agent.http import problems
from sandbox_agent.http.http1 import request_reader
from sandbox_agent.http.http1.connection import ConnectionState
from sandbox_agent.http.http1.exchange import Exchange
from tests.http.http1.http1_client import GET, Http1Client

POST = b"POST /p HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"


@asynccontextmanager
async def connected(handler: Callable[[Exchange], None], **options: Any) -> AsyncIterator[Http1Client]:
    client = Http1Client(handler, **options)
    yield client
    await client.close()


def answer_ok(exchange: Exchange) -> None:
    exchange.respond(200, [], b"ok")


def echo(exchange: Exchange) -> None:
    exchange.collect_body(100, lambda exchange, body: exchange.respond(200, [], body))


class Later:
    """A handler that keeps its exchanges."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def __call__(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)


async def test_the_states_of_a_request_that_arrives_slowly() -> None:
    async with connected(echo) as client:
        seen = [client.connection.state]
        for piece, state in (
            (POST[:10], ConnectionState.READING_HEAD),
            (POST[10:] + b"bo", ConnectionState.READING_BODY),
            (b"dy", ConnectionState.IDLE),
        ):
            await client.send(piece)
            await client.wait_for_state(state)
            seen.append(client.connection.state)
        assert (await client.response())[1] == b"body"
    assert seen[0] is ConnectionState.IDLE


async def test_a_request_waits_while_another_is_answered() -> None:
    later = Later()
    async with connected(later) as client:
        await client.send(GET + GET)
        await client.wait_for_state(ConnectionState.ANSWERING)
        assert len(later.exchanges) == 1
        later.exchanges[0].respond(200, [], b"first")
        assert (await client.response())[1] == b"first"
        await client.wait_for_state(ConnectionState.ANSWERING)
        later.exchanges[1].respond(200, [], b"second")
        assert (await client.response())[1] == b"second"
        assert client.connection.state is ConnectionState.IDLE


async def test_a_response_before_the_end_of_the_request_lingers_for_the_rest() -> None:
    async with connected(answer_ok) as client:
        await client.send(POST)
        head, body = await client.response()
        assert b"connection: close" in head and body == b"ok"
        assert client.connection.state is ConnectionState.LINGERING
        await client.send(b"body" + GET)
        assert await client.read_until(b"") == b""


async def test_an_unreadable_request_is_answered_after_those_before_it() -> None:
    async with connected(answer_ok) as client:
        await client.send(GET + b"nonsense\r\n\r\n")
        assert (await client.response())[1] == b"ok"
        head, body = await client.response()
        assert head.startswith(b"HTTP/1.1 400 ") and json.loads(body)["status"] == 400
        assert client.connection.state is ConnectionState.LINGERING


async def test_a_body_that_cannot_be_read_is_the_end_of_its_request() -> None:
    async with connected(echo) as client:
        head = POST.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked")
        await client.send(head + b"1\r\na\r\n")
        await client.wait_for_state(ConnectionState.READING_BODY)
        await client.send(b"zz\r\n")
        head, _ = await client.response()
        assert head.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("data", "status"),
    [(POST[:20], 408), (POST + b"b", 408)],
    ids=["head", "body"],
)
async def test_a_request_that_does_not_arrive_is_408(data: bytes, status: int) -> None:
    async with connected(echo) as client:
        await client.send(data)
        await client.wait_for_state(
            ConnectionState.READING_BODY if b"\r\n\r\n" in data else ConnectionState.READING_HEAD
        )
        for now in (100.0, 111.0):
            client.connection.check_time(now)
        head, _ = await client.response()
        assert head.startswith(b"HTTP/1.1 %d " % status)


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    async with connected(answer_ok) as client:
        client.connection.check_time(100.0)
        client.connection.check_time(109.0)
        assert client.connection.state is ConnectionState.IDLE
        client.connection.check_time(111.0)
        assert await client.read_until(b"") == b""


async def test_the_last_answer_of_a_stopping_server_closes_the_connection() -> None:
    async with connected(answer_ok) as client:
        client.server.stopping = True
        await client.send(GET)
        assert b"connection: close" in (await client.response())[0]
        assert await client.read_until(b"") == b""


# ---- failures ----------------------------------------------------------------------------------------------


def fails(*_: object) -> None:
    raise ZeroDivisionError("a fault")


def fails_with_the_body(exchange: Exchange) -> None:
    exchange.collect_body(100, fails)


def invalid_header(exchange: Exchange) -> None:
    exchange.respond(200, [(b"x", b"a\r\nset-cookie: b")], b"ok")


def invalid_header_of_problems(exchange: Exchange) -> None:
    exchange.problem_headers = [(b"x", b"a\nb")]
    fails()


def start_with_invalid_header(exchange: Exchange) -> None:
    exchange.start(200, [(b"x y", b"a")])


@pytest.mark.parametrize(
    "handler",
    [fails, fails_with_the_body, invalid_header, invalid_header_of_problems, start_with_invalid_header],
)
@pytest.mark.parametrize("pieces", [[POST + b"body"], [POST, b"body"]], ids=["whole", "in pieces"])
async def test_a_failure_before_the_response_is_a_500_problem(
    handler: Callable[[Exchange], None], pieces: list[bytes]
) -> None:
    async with connected(handler) as client:
        for piece in pieces:
            await client.send(piece)
            await asyncio.sleep(0)
        head, body = await client.response()
        assert head.startswith(b"HTTP/1.1 500 ")
        assert b"set-cookie" not in head
        assert json.loads(body)["type"] == "urn:sandbox-agent:error:internal_error"


@pytest.mark.clause("security-H2")
async def test_without_a_problem_document_there_is_still_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = problems.encode(InternalError())
    monkeypatch.setattr(problems, "response", fails)
    async with connected(fails) as client:
        await client.send(GET)
        head, body = await client.response()
        assert head.startswith(b"HTTP/1.1 500 ") and b"application/problem+json" in head
        assert body == expected


@pytest.mark.clause("security-H2")
async def test_a_failure_when_the_handler_is_stopped_does_not_keep_the_408() -> None:
    async with connected(lambda exchange: exchange.on_body(lambda: None, cancel=fails)) as client:
        await client.send(POST + b"b")
        await client.wait_for_state(ConnectionState.READING_BODY)
        for now in (100.0, 111.0):
            client.connection.check_time(now)
        head, _ = await client.response()
        assert head.startswith(b"HTTP/1.1 500 ")


@pytest.mark.clause("security-H2")
async def test_a_head_that_cannot_be_turned_into_a_request_is_a_500(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_reader, "RequestHead", fails)
    async with connected(answer_ok) as client:
        await client.send(GET)
        head, _ = await client.response()
        assert head.startswith(b"HTTP/1.1 500 ")


class FailsWhenLeft:
    def resume(self) -> None:
        pass

    def disconnected(self) -> None:
        fails()


async def test_a_failure_after_the_client_has_left_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with connected(lambda exchange: exchange.attach(FailsWhenLeft())) as client:
        await client.send(GET)
        await client.wait_for_state(ConnectionState.ANSWERING)
        client.connection.abort()
        await client.wait_for_state(ConnectionState.CLOSED)
        assert "ZeroDivisionError" in caplog.text


class FailsWhenResumed:
    def resume(self) -> None:
        fails()

    def disconnected(self) -> None:
        pass


def fails_later(exchange: Exchange) -> None:
    exchange.attach(FailsWhenResumed())
    exchange.start(200, [])
    exchange.write(b"x" * 2_000_000)


async def test_a_failure_after_the_start_of_the_response_breaks_the_connection() -> None:
    async with connected(fails_later) as client:
        await client.send(GET)
        received = await client.read_until(b"")
        assert received.startswith(b"HTTP/1.1 200 ")
        assert not received.endswith(b"0\r\n\r\n")


async def test_calls_after_the_end_of_a_response_change_nothing() -> None:
    later = Later()
    async with connected(later) as client:
        await client.send(GET)
        await client.wait_for_state(ConnectionState.ANSWERING)
        (exchange,) = later.exchanges
        exchange.respond(200, [], b"ok")
        exchange.respond(200, [], b"again")
        exchange.start(200, [])
        exchange.write(b"again")
        exchange.end()
        exchange.fail(ValueError("again"))
        assert (await client.response())[1] == b"ok"
        await client.send(GET)
        await client.wait_for_state(ConnectionState.ANSWERING)
        assert client.received == b""
