"""What clients do wrong: vanish, crawl, storm, repeat themselves, talk nonsense."""

from __future__ import annotations

import select
import socket
import struct
import time
from contextlib import suppress

from tests.chaos.world import World
from tests.support.acp import JSON_HEADERS, message
from tests.support.event_stream import StreamEnded
from tests.support.raw_http import Connection, ConnectionClosed


def _reset(connection: Connection) -> None:
    """Gone without a farewell: the peer gets a reset, not an end."""
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# Linux: a socket that is closed in this mode says nothing to its peer, neither an end nor a reset.
TCP_REPAIR = 19
DRIP_S, DRIP_LIMIT_S = 0.2, 30.0


def vanish_without_a_word(world: World) -> None:
    """As by a pulled cable: to the server the connection stays open until it writes to it."""
    server_id = world.instance()
    stream = world.server.client.connect()
    stream.send(world.server.client.build("GET", world.acp.path(server_id)))
    stream.read_head()
    world.requests += 1
    body = message("test/answer_after", {"ms": 100}, f"q{world.requests}")
    waiting = world.acp.open_post(server_id, body)
    for connection in (stream, waiting):
        try:
            connection.socket.setsockopt(socket.IPPROTO_TCP, TCP_REPAIR, 1)
        except PermissionError:
            world.open_connections.append(connection)  # not root: the cable stays in, nobody reads
        else:
            connection.close()


def vanish_while_waiting(world: World) -> None:
    server_id = world.instance()
    world.requests += 1
    body = message("test/answer_after", {"ms": 100}, f"q{world.requests}")
    connection = world.server.client.connect()
    connection.send(
        world.server.client.build("POST", world.acp.path(server_id), headers=JSON_HEADERS, body=body)
    )
    _reset(connection)


def vanish_in_the_middle_of_a_body(world: World) -> None:
    request = world.server.client.build(
        "POST", world.acp.path(world.instance()), headers=JSON_HEADERS, body=b"x" * 50_000
    )
    connection = world.server.client.connect()
    connection.send(request[: world.random.randint(1, len(request) - 1)])
    _reset(connection)


def fall_asleep_on_a_stream(world: World) -> None:
    """A peer whose network is gone looks like this for as long as it lasts: open, and never read."""
    connection = world.server.client.connect(receive_buffer=4096)
    connection.send(world.server.client.build("GET", world.acp.path(world.instance())))
    world.open_connections.append(connection)


def read_one_byte_a_second(world: World) -> None:
    connection = world.server.client.connect(1, receive_buffer=4096)
    connection.send(world.server.client.build("GET", world.acp.path(world.instance())))
    world.open_connections.append(connection)

    def crawl() -> None:
        with suppress(OSError):  # closed at the end of the world, or by the server
            while True:
                with suppress(TimeoutError):
                    if not connection.socket.recv(1):
                        return
                time.sleep(1)  # the fault itself

    world.acp.in_background(crawl)


def storm_of_reconnects(world: World) -> None:
    """Twenty readers, each cut at another place and coming back where it was."""
    server_id = world.instance()
    world.acp.notify(server_id, "test/flood", {"count": 300, "first": 1 + 999 * 1_000_000, "size": 20})
    for _ in range(20):
        last = world.followed(server_id).position
        try:
            with world.acp.stream(server_id, last, timeout=5) as stream:
                expected = None
                for event in stream.take(world.random.randint(1, 5), timeout=0.3):
                    if event.number is not None:
                        assert expected in (None, event.number), (expected, event.number)
                        expected = event.number + 1
        except (TimeoutError, StreamEnded, ConnectionClosed):
            continue


def send_the_same_id(world: World) -> None:
    """Identical: both get the one answer. Different: one of them is a conflict."""
    server_id = world.instance()
    world.requests += 1
    body = message("test/answer_after", {"ms": 300}, f"q{world.requests}")
    other = message("test/answer_after", {"ms": 299}, f"q{world.requests}")
    posts = [
        world.acp.in_background(world.acp.post, server_id, each, timeout=20) for each in (body, body, other)
    ]
    statuses = [post.result(25).status for post in posts]
    assert statuses.count(200) + statuses.count(409) == 3 and 200 in statuses, statuses


def creep_in_a_head(world: World) -> None:
    """A head that grows by a byte now and then and never ends; the server ends it after its time."""
    _creep(world, b"GET /v1/health HTTP/1.1\r\nx: ", b"y")


def creep_in_a_body(world: World) -> None:
    request = world.server.client.build(
        "POST", world.acp.path(world.instance()), headers=JSON_HEADERS, body=b"y" * 5000
    )
    _creep(world, request[:-4990], b"y")


def _creep(world: World, start: bytes, more: bytes) -> None:
    connection = world.server.client.connect()
    connection.send(start)

    def drip() -> None:
        deadline = time.monotonic() + DRIP_LIMIT_S
        with connection, suppress(OSError):  # the server has closed it
            while not select.select([connection.socket], [], [], DRIP_S)[0]:
                assert time.monotonic() < deadline, "a creeping request is never ended"
                connection.send(more)

    world.creeping.append(world.acp.in_background(drip))


def talk_nonsense(world: World) -> None:
    with world.server.client.connect(3) as connection:
        with suppress(OSError):
            connection.send(world.random.randbytes(world.random.randint(1, 5000)) + b"\r\n\r\n")
            connection.socket.shutdown(socket.SHUT_WR)
            connection.read_to_end()


def close_in_the_middle(world: World) -> None:
    server_id = world.instance()
    for _ in range(3):
        world.ask(server_id, "test/silent")
    world.close(server_id)


def many_first_posts(world: World) -> None:
    server_id = world.random.choice(["t0", "t1"])
    for _ in range(8):
        world.ask(server_id, "test/echo", agent="amp")


FAULTS = [
    vanish_without_a_word,
    vanish_while_waiting,
    vanish_in_the_middle_of_a_body,
    fall_asleep_on_a_stream,
    read_one_byte_a_second,
    storm_of_reconnects,
    send_the_same_id,
    creep_in_a_head,
    creep_in_a_body,
    talk_nonsense,
    close_in_the_middle,
    many_first_posts,
]
