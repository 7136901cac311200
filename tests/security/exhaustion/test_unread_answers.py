"""Clients that send and do not read: they cost a bounded amount of memory for a bounded time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.clients.acp import AGENT
from tests.support.clients.raw_http import Connection
from tests.support.processes import open_descriptors, resident_bytes, wait_until
from tests.support.server_process import ServerProcess

MIB = 1 << 20
DROPPED_AFTER = ["--write-timeout-ms", "1500"]
HOST = b"HTTP/1.1\r\nHost: localhost\r\n"
REQUESTS = {
    "401": b"GET /v1/health " + HOST + b"\r\n",
    "421": b"GET /v1/health HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n",
    "403": b"GET /v1/health " + HOST + b"Origin: https://elsewhere.example\r\n\r\n",
    "options": b"OPTIONS /v1/health " + HOST + b"\r\n",
    "document": b"GET /openapi.json " + HOST + b"\r\n",
    "shortest": b"GET / HTTP/1.1\r\n\r\n",
}


def send_until_blocked(connection: Connection, request: bytes, limit: int) -> int:
    """Send requests until the server takes no more; returns how many bytes were sent."""
    block = request * max(1, 65536 // len(request))
    sent = 0
    connection.socket.settimeout(1)
    try:
        while sent < limit:
            sent += connection.socket.send(block[sent % len(request) :])
    except TimeoutError:
        pass
    connection.socket.settimeout(20)
    return sent


@pytest.mark.clause("security-H4")
@pytest.mark.parametrize("kind", REQUESTS)
def test_pipelined_requests_wait_until_their_client_reads(start_server, kind: str) -> None:
    server: ServerProcess = start_server()
    server.client.get("/openapi.json")
    before = resident_bytes(server.pid)
    request = REQUESTS[kind]
    with server.client.connect(20, receive_buffer=65536) as connection:
        sent = send_until_blocked(connection, request, 64 * MIB)
        assert sent < 16 * MIB, "the server has gone on reading"
        assert resident_bytes(server.pid) - before < 12 * MIB
        complete = sent // len(request)
        for _ in range(complete if kind == "403" else min(complete, 200)):
            connection.read_answer()


@pytest.mark.clause("security-H4")
def test_pings_of_a_client_that_does_not_read_are_not_all_answered(start_server) -> None:
    """Once it reads, it gets the answer to its last ping, as RFC 6455 demands."""
    server: ServerProcess = start_server()
    with server.client.connect(20, receive_buffer=65536) as connection:
        handshake = {"upgrade": "websocket", "connection": "upgrade", "sec-websocket-version": "13"}
        handshake |= {"sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA=="}
        connection.send(server.client.build("GET", f"/acp/{AGENT}", headers=handshake))
        assert connection.read_head()[0] == 101
        before = resident_bytes(server.pid)
        for number in range(256):
            connection.send(masked_ping(b"x" * 125) * 1000 + masked_ping(b"%d" % number))
        assert resident_bytes(server.pid) - before < 8 * MIB
        connection.read_until(b"\x8a\x03255")
        connection.send(masked_ping(b"again"))
        connection.read_until(b"\x8a\x05again")


def masked_ping(data: bytes) -> bytes:
    return bytes((0x89, 0x80 | len(data), 0, 0, 0, 0)) + data


@pytest.mark.clause("security-M7")
@pytest.mark.parametrize("kind", ["pipeline", "download", "stream", "last answer"])
def test_a_client_that_never_reads_is_disconnected(start_server, kind: str) -> None:
    server: ServerProcess = start_server(arguments=["--fs-root", "/", *DROPPED_AFTER])
    large = server.home / "large"
    large.write_bytes(bytes(32 * MIB))
    server_id = server.acp.start()
    # The first requests of both kinds leave descriptors open: those of asyncio and of the root directory.
    assert server.client.get("/v1/agents").status == 200
    assert server.client.get(f"/v1/fs/stat?path={large}").status == 200
    resting = open_descriptors(server.pid)
    path = f"/v1/fs/file?path={large}"
    with server.client.connect(20, receive_buffer=4096) as connection:
        if kind == "pipeline":
            send_until_blocked(connection, REQUESTS["401"], 64 * MIB)
        elif kind == "download":
            connection.send(server.client.build("GET", path))
        elif kind == "last answer":
            connection.send(server.client.build("GET", path, headers={"connection": "close"}))
        else:
            connection.send(server.client.build("GET", server.acp.path(server_id)))
            server.acp.call(server_id, "test/flood", {"count": 5000, "size": 2000}, timeout=30)
            wait_until(lambda: server.acp.entry(server_id)["subscribers"] == 0, 15, "no subscriber")  # type: ignore[index]
            return
        if kind != "pipeline":
            wait_until(lambda: open_descriptors(server.pid) > resting, 5, "the connection")
        wait_until(lambda: open_descriptors(server.pid) <= resting, 15, "the end of the connection")


@pytest.mark.clause("security-M7")
def test_a_client_that_reads_slowly_gets_everything(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--fs-root", "/", *DROPPED_AFTER])
    large = server.home / "large"
    content = bytes(range(256)) * 4096 * 4
    large.write_bytes(content)
    with server.client.connect(20, receive_buffer=65536) as connection:
        connection.send(server.client.build("GET", f"/v1/fs/file?path={Path(large)}"))
        began = time.monotonic()
        status, _, _ = connection.read_head()
        assert status == 200
        received = connection.read_exactly(100_000)
        while len(received) < len(content):
            time.sleep(0.25)  # the slowness itself
            received += connection.read_exactly(min(512 * 1024, len(content) - len(received)))
    assert received == content
    assert time.monotonic() - began > 1.6
