"""The load programs against servers that lose or change messages: they must say so."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench import programs

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module", autouse=True)
def built_programs() -> None:
    programs.build()


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def measured(name: str, **options: object) -> dict[str, Any]:
    return await asyncio.to_thread(programs.run, name, **options)


def echoing(change: Callable[[bytes], bytes]) -> Handler:
    """A keep-alive HTTP server that answers echo requests and changes the answer on its way."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                answer = change(body.replace(b'"method":"echo","params":', b'"result":'))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        except asyncio.IncompleteReadError:
            writer.close()

    return handle


def streaming(events: list[int]) -> Handler:
    """An HTTP server whose event stream has the flood events of these numbers."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in events:
            line = b'{"jsonrpc":"2.0","method":"flood","params":{"data":"%010d","seq":%d}}' % (number, number)
            event = b"event: message\nid: 1\ndata: " + line + b"\n\n"
            writer.write(b"%x\r\n" % len(event) + event + b"\r\n")
        writer.write(b"0\r\n\r\n")
        await reader.read()
        writer.close()

    return handle


async def test_an_honest_echo_has_nothing_to_complain_about() -> None:
    async with listening(echoing(lambda answer: answer)) as port:
        figures = await measured("http_load", port=port, requests=5, connections=3, bytes=300)
    assert figures["answered"] == 15
    assert (figures["altered"], figures["failed"], figures["lost"]) == (0, 0, 0)


@pytest.mark.parametrize(
    "change",
    [
        lambda answer: answer[:-10] + b"#" + answer[-9:],
        lambda answer: answer[:-4] + b'"}}',
        lambda answer: answer.replace(b'"id":', b'"id":9'),
    ],
    ids=["one byte changed", "one byte short", "another id"],
)
async def test_a_changed_answer_is_counted_as_altered(change: Callable[[bytes], bytes]) -> None:
    async with listening(echoing(change)) as port:
        figures = await measured("http_load", port=port, requests=4, bytes=300)
    assert figures["altered"] == 4


async def test_missing_and_repeated_events_are_counted() -> None:
    async with listening(streaming([0, 1, 3, 4, 4, 5])) as port:
        figures = await measured("sse_readers", port=port, mode="replay", count=8, bytes=0)
    assert (figures["missing"], figures["repeated"], figures["altered"]) == (3, 1, 0)
    assert figures["delivered"] == 6


async def test_events_missing_from_any_of_several_replays_are_counted() -> None:
    async with listening(streaming([0, 1, 3, 4])) as port:
        figures = await measured("sse_readers", port=port, mode="replay", count=8, bytes=0, again_ms=100)
    assert figures["expected"] > 8, "there was more than one replay"
    assert (figures["missing"], figures["delivered"]) == (
        figures["expected"] / 8 * 4,
        figures["expected"] / 2,
    )
