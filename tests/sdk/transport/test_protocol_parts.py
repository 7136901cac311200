"""Parts of the transport without a server: event frames, JSON, pending calls, the ASGI transport."""

from __future__ import annotations

import asyncio
import itertools
import json
import ssl
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import RpcError
from sandbox_agent.sdk.providers.asgi_transport import StreamingAsgiTransport
from sandbox_agent.sdk.response_errors import status_error
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.http_clients import REQUESTS_PER_POOL, HttpClients, send
from sandbox_agent.sdk.transport.retries import Retries, backoff, refused
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder

STREAM = (
    b'event: message\nid: 1\ndata: {"a":1}\n\n: heartbeat\n\n'
    b'event: gap\ndata: {"oldest":5,"newest":9}\n\n'
    b"event: message\r\nid: 5\r\ndata: x\r\ndata: y\r\n\r\nevent: message\nid: 6\ndata: half"
)
FRAMES = [
    Frame("message", b'{"a":1}', "1"),
    Frame("comment", b"", None),
    Frame("gap", b'{"oldest":5,"newest":9}', None),
    Frame("message", b"x\ny", "5"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_frames_are_the_same_however_the_bytes_are_cut(cuts: list[int]) -> None:
    decoder = FrameDecoder()
    places = [0, *sorted(cuts), len(STREAM)]
    frames = [frame for start, end in itertools.pairwise(places) for frame in decoder.feed(STREAM[start:end])]
    assert frames == FRAMES, "a frame that is not finished is never handed on"


@pytest.mark.parametrize(
    "text", [b'"\\ud800"', b"1e400", b"123456789012345678901234567890", b' {"a": [1.10]} ']
)
def test_any_json_an_agent_may_write_is_read(text: bytes) -> None:
    assert json_codec.decode(text) == json.loads(text)


def test_lone_surrogates_can_be_written() -> None:
    assert json_codec.decode(json_codec.encode({"x": "\ud800"})) == {"x": "\ud800"}


async def test_a_call_is_accepted_once_and_settled_once() -> None:
    told: list[str] = []
    call = PendingCall("1", "m", lambda: told.append("accepted"))
    call.accept()
    call.answer({"error": {"code": 5, "message": "no"}})
    call.answer({"result": 1})
    call.fail(RpcError(1, "late"))
    with pytest.raises(RpcError, match=r"m: no \(code 5\)"):
        await call.future
    assert told == ["accepted"]


def test_pauses_grow_to_a_limit_with_jitter() -> None:
    assert all(0.07 < backoff(0, first=0.1, limit=10) < 0.13 for _ in range(50))
    assert all(7 < backoff(30, first=0.1, limit=10) < 13 for _ in range(50))


def test_a_server_that_is_stopping_is_asked_again_for_less_than_a_second() -> None:
    stopping = status_error(503, {"type": "urn:sandbox-agent:error:server_stopping"})
    retries = Retries(2, idempotent=False)
    pauses = [pause for _ in range(3) if (pause := retries.pause_after(stopping)) is not None]
    assert len(pauses) == 3 and sum(pauses) < 0.75, "nothing was taken in, so even a prompt may go again"
    assert Retries(0, idempotent=True).pause_after(stopping) is None


def test_the_last_word_of_the_server_is_not_asked_for_twice() -> None:
    for kind, status in (("timeout", 504), ("agent_process_exited", 502), ("stream_error", 502)):
        verdict = status_error(status, {"type": f"urn:sandbox-agent:error:{kind}"})
        assert Retries(2, idempotent=True, read_only=True).pause_after(verdict) is None
    page = status_error(502, None, text="<h1>Bad Gateway</h1>")
    assert Retries(2, idempotent=True).pause_after(page) is not None
    assert Retries(2, idempotent=False).pause_after(page) is None


async def test_a_refused_connection_is_distinguished_from_a_broken_network() -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError) as failure:
            await client.get("http://127.0.0.1:9/")
    assert refused(failure.value) and not refused(OSError("unreachable"))


async def streaming_app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["raw_path"])]})
    await send({"type": "http.response.body", "body": b"first " + body, "more_body": True})
    if scope["path"] == "/endless":
        assert (await receive())["type"] == "http.disconnect"
        return
    await send({"type": "http.response.body", "body": b" last", "more_body": False})


@pytest.mark.clause("sdk-asgi")
async def test_the_in_process_transport_streams_both_ways() -> None:
    async with httpx.AsyncClient(
        transport=StreamingAsgiTransport(streaming_app), base_url="http://x"
    ) as client:
        assert (await client.post("/a%2Fb", content=b"body")).text == "first body last"
        assert (await client.get("/a%2Fb")).headers["x-path"] == "/a%2Fb"
        async with client.stream("GET", "/endless") as response:
            async for chunk in response.aiter_bytes():
                assert chunk == b"first "
                break
    assert not [task for task in asyncio.all_tasks() if "asgi" in task.get_name()]


async def test_an_application_that_fails_is_a_protocol_error() -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("broken")

    async with httpx.AsyncClient(transport=StreamingAsgiTransport(broken), base_url="http://x") as client:
        with pytest.raises(httpx.TransportError, match="broken"):
            await client.get("/")


@pytest.mark.clause("sdk-shared-streams")
async def test_requests_share_the_connections_of_few_clients() -> None:
    clients = HttpClients(None, None)
    try:
        with clients.use() as first:
            pass
        with clients.use() as second:
            assert second is first
        with ExitStack() as open_requests:
            used = {id(open_requests.enter_context(clients.use())) for _ in range(REQUESTS_PER_POOL * 3)}
            assert len(used) == 3
        with clients.use() as again:
            assert again is first
    finally:
        await clients.aclose()


@pytest.mark.parametrize(("url", "trusts"), [("http://127.0.0.1:1", False), ("https://127.0.0.1:1", True)])
async def test_certificates_are_loaded_only_for_a_server_behind_tls(url: str, trusts: bool) -> None:
    api = HttpApi(url)
    try:
        with api._clients.use() as client:
            context = client._transport._pool._ssl_context  # type: ignore[attr-defined]
        assert (context.cert_store_stats()["x509_ca"] > 0) is trusts
        assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
    finally:
        await api.aclose()


async def test_a_cancelled_request_leaves_no_expired_connection_open() -> None:
    """Its cancellation comes while `httpx` closes several connections that the server has closed."""
    peers: list[asyncio.StreamWriter] = []
    all_asked, silent = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        if len(peers) == 4:
            all_asked.set()
        await all_asked.wait()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
        await writer.drain()
        await silent.wait()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    clients = HttpClients(None, None)
    try:
        with clients.use() as client:
            await asyncio.gather(*(client.get(url) for _ in range(4)))
            connections = list(client._transport._pool.connections)
            silent.set()
            await asyncio.gather(*(peer.wait_closed() for peer in peers))
            for _ in range(20):  # let the client's side take in the end of the connections
                await asyncio.sleep(0)
            closing = asyncio.Event()
            close = type(connections[0]).aclose

            async def noted(connection: Any) -> None:
                closing.set()
                await close(connection)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(connections[0]), "aclose", noted)
                task = asyncio.create_task(send(client, client.build_request("GET", url), stream=True))
                await asyncio.wait_for(closing.wait(), 10)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            assert all(one.is_closed() for one in connections)
    finally:
        await clients.aclose()
        server.close()
