"""The socket of a connection: everything arrives once and in order, from memory and from files."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from sandbox_agent.bridge.eventlog.file_range import FileRange, SegmentFile
from sandbox_agent.http.http1.sockets.hangup_watch import HangupWatch
from sandbox_agent.http.http1.sockets.socket_transport import SocketTransport
from tests.support.polling import eventually

BOUND_S = 20


class Receiver:
    def __init__(self) -> None:
        self.received = b""
        self.paused = False
        self.writable = asyncio.Event()
        self.heard = asyncio.Event()
        self.lost = asyncio.Event()
        self.finished = asyncio.Event()
        self.half_open = False

    def data_received(self, data: bytes) -> None:
        self.received += data
        self.heard.set()

    def eof_received(self) -> bool:
        return self.half_open

    def peer_finished(self) -> None:
        self.finished.set()

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self.writable.set()

    def connection_lost(self) -> None:
        assert not self.lost.is_set(), "called twice"
        self.lost.set()


def transport_of(sock: socket.socket, receiver: Receiver) -> SocketTransport:
    loop = cast(Any, asyncio.get_running_loop())
    return SocketTransport(loop, sock, receiver, HangupWatch(loop))


class Pair:
    def __init__(self) -> None:
        ours, self.peer = socket.socketpair()
        ours.setblocking(False)
        self.receiver = Receiver()
        self.transport = transport_of(ours, self.receiver)

    async def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = await asyncio.wait_for(asyncio.to_thread(self.peer.recv, 65536), BOUND_S)
            if not piece:
                break
            data += piece
        return data


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    pair = Pair()
    yield pair
    pair.transport.abort()
    pair.peer.close()
    await asyncio.wait_for(pair.receiver.lost.wait(), BOUND_S)


def stored_file(directory: Path) -> SegmentFile:
    file = SegmentFile(str(directory / "events"))
    os.write(file.fd, bytes(range(256)) * 8192)
    return file


def is_open(path: str) -> bool:
    """Whether this process still holds the file, which has been removed."""
    links = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{name}"))
    return f"{path} (deleted)" in links


async def test_memory_and_files_go_out_in_the_order_they_were_given(pair: Pair, tmp_path: Path) -> None:
    file = stored_file(tmp_path)
    content = bytes(range(256)) * 8192
    pair.transport.write(b"head")
    pair.transport.write_file(FileRange(1, 9, file, 100, 1_000_000))
    pair.transport.write_pieces([b"a" * 300_000, b"b", b"c" * 300_000])
    pair.transport.write_file(FileRange(10, 11, file, 5, 70_000))
    pair.transport.write(b"tail")
    expected = b"".join(
        [b"head", content[100:1_000_100], b"a" * 300_000, b"b", b"c" * 300_000, content[5:70_005], b"tail"]
    )
    assert pair.receiver.paused, "that much does not fit: the writer is asked to wait"
    assert await pair.read(len(expected)) == expected
    await asyncio.wait_for(pair.receiver.writable.wait(), BOUND_S)
    assert not pair.receiver.paused


async def test_a_file_that_is_removed_meanwhile_is_still_sent_and_then_let_go(
    pair: Pair, tmp_path: Path
) -> None:
    file = stored_file(tmp_path)
    pair.transport.write_file(FileRange(1, 1, file, 0, 2_000_000))
    path = file.path
    file.remove()
    del file
    assert is_open(path)
    assert len(await pair.read(2_000_000)) == 2_000_000
    await eventually(lambda: not is_open(path), BOUND_S)


async def test_closing_waits_for_what_is_to_be_sent(pair: Pair) -> None:
    pair.transport.write(b"x" * 3_000_000)
    pair.transport.close()
    pair.transport.write(b"too late")
    assert not pair.receiver.lost.is_set()
    assert await pair.read(4_000_000) == b"x" * 3_000_000
    await asyncio.wait_for(pair.receiver.lost.wait(), BOUND_S)


async def test_a_peer_that_left_ends_the_connection_once(pair: Pair) -> None:
    pair.transport.write(b"x" * 3_000_000)
    pair.peer.close()
    await asyncio.wait_for(pair.receiver.lost.wait(), BOUND_S)
    pair.transport.write(b"unheard")
    pair.transport.abort()
    await asyncio.sleep(0)


async def test_a_half_closed_peer_still_gets_its_answer(pair: Pair) -> None:
    pair.receiver.half_open = True
    pair.peer.sendall(b"question")
    pair.peer.shutdown(socket.SHUT_WR)
    await asyncio.wait_for(pair.receiver.heard.wait(), BOUND_S)
    await asyncio.sleep(0)
    pair.transport.write(b"answer")
    pair.transport.write_eof()
    assert await pair.read(100) == b"answer"


@pytest.mark.clause("security-L8")
async def test_a_peer_that_leaves_is_noticed_while_nothing_is_read(pair: Pair) -> None:
    pair.transport.pause_reading()
    pair.peer.sendall(b"unread")
    pair.peer.shutdown(socket.SHUT_WR)
    await asyncio.wait_for(pair.receiver.finished.wait(), BOUND_S)
    assert not pair.receiver.lost.is_set(), "it can still be answered"
    pair.peer.close()
    await asyncio.wait_for(pair.receiver.lost.wait(), BOUND_S)
    assert pair.receiver.received == b""


async def test_what_came_before_the_end_is_read_after_a_pause(pair: Pair) -> None:
    pair.transport.pause_reading()
    pair.peer.sendall(b"late")
    pair.peer.shutdown(socket.SHUT_WR)
    await asyncio.wait_for(pair.receiver.finished.wait(), BOUND_S)
    pair.transport.resume_reading()
    await asyncio.wait_for(pair.receiver.lost.wait(), BOUND_S)
    assert pair.receiver.received == b"late"


async def test_sending_files_to_a_local_reader_limits_the_send_buffer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname(), timeout=BOUND_S)
        ours, _ = server.accept()
    ours.setblocking(False)
    receiver = Receiver()
    transport = transport_of(ours, receiver)
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    transport.write_file(FileRange(1, 9, stored_file(tmp_path), 0, 2_000_000))
    assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) < before
    transport.abort()
    peer.close()
    await asyncio.wait_for(receiver.lost.wait(), BOUND_S)
