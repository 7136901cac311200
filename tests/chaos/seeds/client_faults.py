"""Faults of clients: lost connections, slow readers and senders, reconnects, repeated ids, bad requests."""

from __future__ import annotations

import select
import socket
import struct
import time
from contextlib import suppress

from tests.chaos.seeds.chaos_run import ChaosRun
from tests.support.clients.acp import JSON_HEADERS, message
from tests.support.clients.event_stream import StreamEnded
from tests.support.clients.raw_http import Connection, ConnectionClosed


def _reset(connection: Connection) -> None:
    """Close the connection with a reset instead of a FIN."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# Linux: a socket closed in this mode sends neither FIN nor reset.
TCP_REPAIR = 19
DRIP_S, DRIP_LIMIT_S = 0.2, 30.0


def vanish_without_fin_or_reset(run: ChaosRun) -> None:
    """Like an unplugged cable: for the server the connection stays open until it writes to it."""
    server_id = run.instance()
    stream = run.server.client.connect()
    stream.send(run.server.client.build("GET", run.acp.path(server_id)))
    stream.read_head()
    run.requests += 1
    body = message("test/answer_after", {"ms": 100}, f"q{run.requests}")
    waiting = run.acp.open_post(server_id, body)
    for connection in (stream, waiting):
        try:
            connection.socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except PermissionError:
            run.open_connections.append(connection)  # without root: open, but never read
        else:
            connection.close()


def vanish_while_waiting(run: ChaosRun) -> None:
    server_id = run.instance()
    run.requests += 1
    body = message("test/answer_after", {"ms": 100}, f"q{run.requests}")
    connection = run.server.client.connect()
    connection.send(run.server.client.build("POST", run.acp.path(server_id), headers=JSON_HEADERS, body=body))
    _reset(connection)


def vanish_in_the_middle_of_a_body(run: ChaosRun) -> None:
    request = run.server.client.build(
        "POST", run.acp.path(run.instance()), headers=JSON_HEADERS, body=b"x" * 50_000
    )
    connection = run.server.client.connect()
    connection.send(request[: run.random.randint(1, len(request) - 1)])
    _reset(connection)


def stop_reading_a_stream(run: ChaosRun) -> None:
    """Like a peer without a network: the connection is open and never read."""
    connection = run.server.client.connect(receive_buffer=4096)
    connection.send(run.server.client.build("GET", run.acp.path(run.instance())))
    run.open_connections.append(connection)


def read_one_byte_a_second(run: ChaosRun) -> None:
    connection = run.server.client.connect(1, receive_buffer=4096)
    connection.send(run.server.client.build("GET", run.acp.path(run.instance())))
    run.open_connections.append(connection)

    def read_slowly() -> None:
        with suppress(OSError):  # closed by the server or at the end of the run
            while True:
                with suppress(TimeoutError):
                    if not connection.socket.recv(1):
                        return
                time.sleep(1)  # the fault itself

    run.acp.in_background(read_slowly)


def storm_of_reconnects(run: ChaosRun) -> None:
    """Twenty readers in turn, each cut after a random number of events and resumed at its position."""
    server_id = run.instance()
    run.acp.notify(server_id, "test/flood", {"count": 300, "first": 1 + 999 * 1_000_000, "size": 20})
    for _ in range(20):
        last = run.read_log(server_id).position
        try:
            with run.acp.stream(server_id, last, timeout=5) as stream:
                expected = None
                for event in stream.take(run.random.randint(1, 5), timeout=0.3):
                    if event.number is not None:
                        assert expected in (None, event.number), (expected, event.number)
                        expected = event.number + 1
        except (TimeoutError, StreamEnded, ConnectionClosed):
            continue


def send_the_same_id(run: ChaosRun) -> None:
    """Two identical bodies share one answer; a different body with the same id is a conflict."""
    server_id = run.instance()
    run.requests += 1
    body = message("test/answer_after", {"ms": 300}, f"q{run.requests}")
    other = message("test/answer_after", {"ms": 299}, f"q{run.requests}")
    posts = [run.acp.in_background(run.acp.post, server_id, each, timeout=20) for each in (body, body, other)]
    statuses = [post.result(25).status for post in posts]
    assert statuses.count(200) + statuses.count(409) == 3 and 200 in statuses, statuses


def send_a_head_slowly(run: ChaosRun) -> None:
    """A head that grows by a byte every 0.2 s and never ends; the server closes it after its time-out."""
    _send_slowly(run, b"GET /v1/health HTTP/1.1\r\nx: ", b"y")


def send_a_body_slowly(run: ChaosRun) -> None:
    request = run.server.client.build(
        "POST", run.acp.path(run.instance()), headers=JSON_HEADERS, body=b"y" * 5000
    )
    _send_slowly(run, request[:-4990], b"y")


def _send_slowly(run: ChaosRun, start: bytes, more: bytes) -> None:
    connection = run.server.client.connect()
    connection.send(start)

    def drip() -> None:
        deadline = time.monotonic() + DRIP_LIMIT_S
        with connection, suppress(OSError):  # the server has closed it
            while not select.select([connection.socket], [], [], DRIP_S)[0]:
                assert time.monotonic() < deadline, "the server does not end a slow request"
                connection.send(more)

    run.slow_requests.append(run.acp.in_background(drip))


def send_malformed_requests(run: ChaosRun) -> None:
    with run.server.client.connect(3) as connection:
        with suppress(OSError):
            connection.send(run.random.randbytes(run.random.randint(1, 5000)) + b"\r\n\r\n")
            connection.socket.shutdown(socket.SHUT_WR)
            connection.read_to_end()


def close_in_the_middle(run: ChaosRun) -> None:
    server_id = run.instance()
    for _ in range(3):
        run.ask(server_id, "test/silent")
    run.close(server_id)


def many_first_posts(run: ChaosRun) -> None:
    server_id = run.random.choice(["t0", "t1"])
    for _ in range(8):
        run.ask(server_id, "test/echo", agent="amp")


FAULTS = [
    vanish_without_fin_or_reset,
    vanish_while_waiting,
    vanish_in_the_middle_of_a_body,
    stop_reading_a_stream,
    read_one_byte_a_second,
    storm_of_reconnects,
    send_the_same_id,
    send_a_head_slowly,
    send_a_body_slowly,
    send_malformed_requests,
    close_in_the_middle,
    many_first_posts,
]
