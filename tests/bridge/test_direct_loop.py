"""The loop of the server command: callbacks straight from the poll, asyncio's own things as ever."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator

import pytest

from sandbox_agent.bridge.direct_loop import DirectLoop


@pytest.fixture
def loop() -> Iterator[DirectLoop]:
    loop = DirectLoop()
    yield loop
    loop.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    yield ends
    for end in ends:
        os.close(end)


def run_until(loop: DirectLoop, done: asyncio.Event) -> None:
    loop.run_until_complete(asyncio.wait_for(done.wait(), 10))


def test_a_reader_is_called_with_its_arguments_until_it_is_removed(
    loop: DirectLoop, pipe: tuple[int, int]
) -> None:
    seen: list[bytes] = []
    done = asyncio.Event()

    def readable(name: str) -> None:
        seen.append(name.encode() + os.read(pipe[0], 1))
        if len(seen) == 3:
            assert loop.remove_reader(pipe[0])
            assert not loop.remove_reader(pipe[0])
            done.set()

    loop.add_reader(pipe[0], readable, "n")
    os.write(pipe[1], b"abcd")
    run_until(loop, done)
    assert seen == [b"na", b"nb", b"nc"]
    assert os.read(pipe[0], 9) == b"d", "nobody read after the removal"


def test_reader_and_writer_of_one_socket_do_not_disturb_each_other(loop: DirectLoop) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    order: list[str] = []
    done = asyncio.Event()

    def writable() -> None:
        order.append("write")
        loop.remove_writer(ours)
        theirs.send(b"x")

    def readable() -> None:
        order.append("read")
        ours.recv(10)
        loop.remove_reader(ours)
        done.set()

    loop.add_reader(ours, readable)
    loop.add_writer(ours, writable)
    run_until(loop, done)
    assert order == ["write", "read"]
    ours.close()
    theirs.close()


def test_a_callback_that_fails_is_reported_and_the_others_go_on(
    loop: DirectLoop, pipe: tuple[int, int]
) -> None:
    reported: list[BaseException] = []
    done = asyncio.Event()
    loop.set_exception_handler(lambda _, context: reported.append(context["exception"]))

    def fails() -> None:
        os.read(pipe[0], 1)
        raise RuntimeError("not today")

    loop.add_reader(pipe[0], fails)
    loop.call_later(0.05, done.set)
    os.write(pipe[1], b"x")
    run_until(loop, done)
    assert [str(error) for error in reported] == ["not today"]
    loop.remove_reader(pipe[0])


def test_a_callback_may_close_what_is_ready_in_the_same_poll(loop: DirectLoop) -> None:
    first, first_peer = socket.socketpair()
    second, second_peer = socket.socketpair()
    done = asyncio.Event()
    called: list[str] = []

    def close_other(name: str, other: socket.socket) -> None:
        called.append(name)
        for sock in (first, second):
            if sock.fileno() >= 0:
                loop.remove_reader(sock)
        other.close()
        loop.call_soon(done.set)

    loop.add_reader(first, close_other, "first", second)
    loop.add_reader(second, close_other, "second", first)
    first_peer.send(b"x")
    second_peer.send(b"x")
    run_until(loop, done)
    assert len(called) == 1
    for sock in (first, first_peer, second, second_peer):
        sock.close()


def test_threads_timers_and_streams_of_asyncio_work_on_it(loop: DirectLoop) -> None:
    async def everything() -> bytes:
        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readline())
            writer.close()
            await writer.wait_closed()

        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(await asyncio.to_thread(lambda: b"hello\n"))
        answer = await asyncio.wait_for(reader.readline(), 10)
        writer.close()
        await writer.wait_closed()
        server.close()
        await asyncio.wait_for(server.wait_closed(), 10)
        return answer

    assert loop.run_until_complete(everything()) == b"hello\n"
