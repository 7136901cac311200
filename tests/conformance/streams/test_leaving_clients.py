"""A client that leaves while another of its requests waits is noticed at once, by reset and by end.

The waiting request is pipelined behind an event stream or a long POST, so the server reads nothing from the
connection until then.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conformance.conftest import Target
from tests.support.clients.acp import JSON_HEADERS, Acp, message
from tests.support.clients.raw_http import Connection
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

BOUND_S = 2.0
pytestmark = pytest.mark.own_server("uvicorn reads connections in its own way")


def reset(connection: Connection) -> None:
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def stream_and_more(acp: Acp, server_id: str) -> Connection:
    connection = acp.client.connect()
    stream = acp.client.build("GET", acp.path(server_id), headers={"accept": "text/event-stream"})
    connection.send(stream + acp.client.build("GET", "/v1/health"))
    assert connection.read_head()[0] == 200
    return connection


def post_and_more(acp: Acp, server_id: str, milliseconds: int, *, is_followed: bool = True) -> Connection:
    body = message("test/answer_after", {"ms": milliseconds}, "long")
    connection = acp.client.connect()
    post = acp.client.build("POST", acp.path(server_id), headers=JSON_HEADERS, body=body)
    connection.send(post + (acp.client.build("GET", "/v1/health") if is_followed else b""))
    acp.wait_until_pending(server_id, 1)
    return connection


@pytest.mark.clause("security-L8")
@pytest.mark.parametrize("leave", [reset, Connection.close], ids=["reset", "end"])
def test_a_reader_of_events_is_missed_at_once(acp: Acp, server_id: str, leave) -> None:
    connection = stream_and_more(acp, server_id)
    wait_until(lambda: (acp.entry(server_id) or {})["subscribers"] == 1, BOUND_S, "a subscriber")
    leave(connection)
    wait_until(lambda: (acp.entry(server_id) or {})["subscribers"] == 0, BOUND_S, "the end of the stream")


def server_side(server: ServerProcess, connection: Connection) -> Callable[[], bool]:
    """Tells whether the server still has a descriptor of the connection."""
    ports = [server.port, connection.socket.getsockname()[1]]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    (inode,) = (row[9] for row in rows if [int(row[at].rpartition(":")[2], 16) for at in (1, 2)] == ports)

    def is_open() -> bool:
        links = []
        for entry in Path(f"/proc/{server.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                links.append(os.readlink(entry))
        return f"socket:[{inode}]" in links

    assert is_open()
    return is_open


@pytest.mark.clause("security-L8")
def test_a_reset_is_noticed_while_an_answer_is_awaited(target: Target, server_id: str) -> None:
    if target.process is None:
        pytest.skip("needs the process of the server")
    connection = post_and_more(target.acp, server_id, 60_000)
    is_open = server_side(target.process, connection)
    reset(connection)
    wait_until(lambda: not is_open(), BOUND_S, "the end of the connection")


@pytest.mark.clause("security-L8")
@pytest.mark.parametrize("is_followed", [False, True], ids=["alone", "pipelined"])
def test_the_end_of_a_client_is_noticed_while_an_answer_is_awaited(
    target: Target, server_id: str, is_followed: bool
) -> None:
    """Closing looks like sending no more, until the client's machine answers a byte with a reset."""
    if target.process is None:
        pytest.skip("needs the process of the server")
    connection = post_and_more(target.acp, server_id, 60_000, is_followed=is_followed)
    is_open = server_side(target.process, connection)
    connection.close()
    wait_until(lambda: not is_open(), 2 * BOUND_S, "the end of the connection")


@pytest.mark.clause("security-L8")
@pytest.mark.parametrize("milliseconds", [100, 3_000])
def test_a_client_that_sends_no_more_gets_all_its_answers(
    acp: Acp, server_id: str, milliseconds: int
) -> None:
    with post_and_more(acp, server_id, milliseconds) as connection:
        connection.socket.shutdown(socket.SHUT_WR)
        answer = connection.read_answer()
        if milliseconds > 2_000:
            assert answer.status == 100, "it is asked whether it is still there, once"
            answer = connection.read_answer()
        assert answer.json()["id"] == "long"
        assert connection.read_answer().body == b'{"status":"ok"}'
        assert connection.is_closed_by_peer()
