"""SIGTERM and SIGINT: the same orderly end, within four seconds."""

from __future__ import annotations

import signal
import time

import pytest

from tests.support.clients.acp import AGENT, message
from tests.support.clients.event_stream import SMALL_BUFFER
from tests.support.clients.raw_http import ConnectionClosed
from tests.support.processes import wait_until, wait_until_dead

pytestmark = pytest.mark.own_server(
    "signals and the end of the process belong to the process that runs the application"
)

SIGNALS = [signal.SIGTERM, signal.SIGINT]


@pytest.mark.clause("decision-30")
@pytest.mark.parametrize("number", SIGNALS)
def test_an_idle_server_ends_at_once_with_0(start_server, number: signal.Signals) -> None:
    server = start_server()
    began = server.signal(number)
    assert server.wait_for_exit(4) == 0
    assert time.monotonic() - began < 2


@pytest.mark.clause("decision-30", "promise-P")
@pytest.mark.parametrize("number", SIGNALS)
def test_with_stubborn_agents_and_open_streams_it_ends_within_four_seconds(start_server, number) -> None:
    server = start_server()
    acp = server.acp
    people, streams = [], []
    for _ in range(10):
        server_id = acp.start()
        acp.call(server_id, "test/ignore_signals")
        people.append(acp.call(server_id, "test/info"))
        streams.append(acp.stream(server_id))
    began = server.signal(number)
    for stream in streams:
        stream.read_to_the_clean_end(timeout=4)
        stream.close()
    assert server.wait_for_exit(6) == 0
    assert time.monotonic() - began < 4
    wait_until_dead(people, 1)


@pytest.mark.clause("decision-30")
@pytest.mark.parametrize("number", SIGNALS)
def test_waiting_requests_are_answered_before_the_end(start_server, number) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    waiting = acp.in_background(acp.send, server_id, "test/silent", request_id="w")
    acp.wait_until_pending(server_id, 1)
    server.signal(number)
    answer = waiting.result(5)
    assert answer.status in (502, 503)
    assert answer.header("content-type") == "application/problem+json"
    assert server.wait_for_exit(4) == 0


@pytest.mark.clause("decision-30")
def test_it_stops_accepting_at_once(start_server) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    acp.call(server_id, "test/ignore_signals")
    server.signal(signal.SIGTERM)

    def refused() -> bool:
        try:
            return server.client.get("/v1/health", timeout=1).status == 503
        except (OSError, ConnectionClosed):
            return True

    wait_until(refused, 1.5, "no new connections")
    assert server.wait_for_exit(5) == 0


@pytest.mark.serial
@pytest.mark.clause("decision-30", "promise-P")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_forces(start_server, number) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    acp.call(server_id, "test/ignore_signals")
    agent_process = acp.call(server_id, "test/info")
    server.signal(number)
    with pytest.raises(OSError):
        wait_until(lambda: server.client.connect(1).close(), 2, "refused connections")
    began = server.signal(number)
    server.wait_for_exit(4)
    assert time.monotonic() - began < 1.5
    wait_until_dead([agent_process], 3)


def test_idle_keep_alive_connections_do_not_delay_the_end(start_server) -> None:
    server = start_server()
    connections = [server.client.connect() for _ in range(20)]
    try:
        for connection in connections[:10]:
            connection.send(server.client.build("GET", "/v1/health"))
            connection.read_answer()
        began = server.signal(signal.SIGTERM)
        assert server.wait_for_exit(4) == 0
        assert time.monotonic() - began < 2
    finally:
        for connection in connections:
            connection.close()


@pytest.mark.clause("promise-P")
def test_a_reader_that_does_not_read_does_not_delay_the_end(start_server) -> None:
    server = start_server()
    acp = server.acp
    server_id = acp.start()
    with acp.stream(server_id, receive_buffer=SMALL_BUFFER) as stream:
        acp.call(server_id, "test/flood", {"count": 20_000, "size": 500}, timeout=20)
        began = server.signal(signal.SIGTERM)
        assert server.wait_for_exit(6) == 0
        assert time.monotonic() - began < 4
        assert stream.connection is not None


def test_a_half_sent_request_does_not_delay_the_end(start_server) -> None:
    server = start_server()
    with server.client.connect() as connection:
        connection.send(b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{")
        began = server.signal(signal.SIGTERM)
        assert server.wait_for_exit(6) == 0
        assert time.monotonic() - began < 4


def test_a_signal_during_a_storm_of_first_posts_leaves_nothing(start_server) -> None:
    server = start_server()
    acp = server.acp
    calls = [
        acp.in_background(acp.post, f"s{n}", message("test/echo", request_id=1), agent=AGENT)
        for n in range(40)
    ]
    wait_until(lambda: any(call.done() for call in calls), 10, "a first answer")
    server.signal(signal.SIGTERM)
    assert server.wait_for_exit(6) == 0
    wait_until(lambda: not server.marked_processes(), 5, "no survivor")
