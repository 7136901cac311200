"""The stream's head, frames, heartbeat, end, and positions to start from."""

from __future__ import annotations

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.event_stream import EventStream
from tests.support.problems import assert_problem
from tests.support.processes import wait_until


@pytest.mark.clause("spec1-3.1-get", "promise-O")
def test_the_head_is_exactly_that_of_an_event_stream(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        assert stream.head.startswith(b"HTTP/1.1 200 OK\r\n")
        headers = dict(stream.headers)
    date = headers.pop("date")
    assert date.endswith(" GMT")
    assert headers == {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
        "transfer-encoding": "chunked",
        "vary": "origin, access-control-request-method, access-control-request-headers",
        "x-content-type-options": "nosniff",
        "cross-origin-resource-policy": "same-origin",
    }


@pytest.mark.clause("spec1-3.4-framing")
def test_frames_are_byte_for_byte_those_of_the_wire(acp: Acp, server_id: str) -> None:
    answer = acp.send(server_id, "test/echo", request_id="x")
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id), headers={"last-event-id": "1"}))
        connection.read_head()
        assert connection.read_chunk() == b"event: message\nid: 2\ndata: " + answer.body + b"\n\n"


@pytest.mark.clause("promise-O")
def test_an_event_is_not_split_between_chunks(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 2000, "size": 100})
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id)))
        connection.read_head()
        seen = 0
        while seen < 2002:
            chunk = connection.read_chunk()
            assert chunk.startswith(b"event: message\nid: ")
            assert chunk.endswith(b"\n\n")
            seen += chunk.count(b"event: message\n")


@pytest.mark.clause("spec1-3.3-replay", "spec1-8-e2e", "decision-5")
def test_without_a_position_everything_retained_is_replayed_then_live(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 5})
    with acp.stream(server_id) as stream:
        assert [event.number for event in stream.take(7)] == [1, 2, 3, 4, 5, 6, 7]
        acp.call(server_id, "test/flood", {"count": 2})
        assert [event.number for event in stream.take(3)] == [8, 9, 10]


@pytest.mark.parametrize("position", ["", "   "])
def test_an_empty_position_is_none(acp: Acp, server_id: str, position: str) -> None:
    with acp.stream(server_id, last_event_id=position) as stream:
        assert stream.next_message().number == 1


@pytest.mark.clause("spec1-3.3-replay")
@pytest.mark.parametrize(
    ("position", "first"), [("0", 1), ("1", 2), (" 2 ", 3), ("+2", 3), ("0003", 4), ("5", 6)]
)
def test_a_position_is_followed_by_everything_after_it(
    acp: Acp, server_id: str, position: str, first: int
) -> None:
    acp.call(server_id, "test/flood", {"count": 8})
    with acp.stream(server_id, last_event_id=position) as stream:
        assert [event.number for event in stream.take(11 - first)] == list(range(first, 11))


def test_the_newest_position_waits_for_the_next_event(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id, last_event_id=1) as stream:
        assert stream.has_nothing_for(0.2)
        acp.call(server_id, "test/echo")
        assert stream.next_message().number == 2


@pytest.mark.clause("decision-6")
@pytest.mark.parametrize(
    "position", ["-1", "abc", "1.5", "0x2", "1 2", "++1", "1e3", "²", "1_0", "-0x", "None"]
)
def test_a_position_that_is_not_a_non_negative_integer_is_400(
    acp: Acp, server_id: str, position: str
) -> None:
    answer = acp.client.get(acp.path(server_id), headers={"last-event-id": position})
    problem = assert_problem(answer, 400, "invalid_request")
    assert problem["detail"] == "invalid request: Last-Event-ID must be a positive integer"


@pytest.mark.clause("decision-6", "promise-B")
@pytest.mark.parametrize("position", ["3", "100", "18446744073709551616", "9" * 400])
def test_a_position_in_the_future_is_a_gap_and_then_everything(
    acp: Acp, server_id: str, position: str
) -> None:
    acp.call(server_id, "test/echo")
    with acp.stream(server_id, last_event_id=position) as stream:
        gap, *events = stream.take(3)
    assert gap.data == b'{"oldest":1,"newest":2}'
    assert gap.kind == "gap"
    assert [event.number for event in events] == [1, 2]


def test_of_a_repeated_position_the_first_counts(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 5})
    request = acp.client.build("GET", acp.path(server_id), headers={"last-event-id": "4"})
    request = request[:-2] + b"Last-Event-ID: 1\r\n\r\n"
    with acp.client.connect() as connection:
        connection.send(request)
        connection.read_head()
        assert connection.read_chunk().startswith(b"event: message\nid: 5\n")


def test_the_query_parameter_last_event_id_is_ignored(acp: Acp, server_id: str) -> None:
    with EventStream(acp.client, f"{server_id}?lastEventId=7") as stream:
        assert stream.next_message().number == 1


@pytest.mark.clause("spec1-3.2-lazy-creation", "spec1-3.6-unknown-id")
def test_a_stream_of_an_unknown_id_is_404(acp: Acp) -> None:
    problem = assert_problem(acp.client.get("/v1/acp/no-such"), 404, "session_not_found", "Session Not Found")
    assert list(problem) == ["type", "title", "status", "detail", "sessionId"]
    assert (problem["detail"], problem["sessionId"]) == ("session not found: no-such", "no-such")


def test_a_stream_of_a_closed_id_is_404(acp: Acp, server_id: str) -> None:
    acp.delete(server_id)
    assert_problem(acp.client.get(acp.path(server_id)), 404, "session_not_found")


@pytest.mark.clause("spec1-3.4-heartbeat")
def test_a_silent_stream_gets_heartbeats(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_ACP_HEARTBEAT_MS": "100"}).acp
    server_id = acp.start()
    with acp.stream(server_id) as stream:
        kinds = [stream.next().kind for _ in range(4)]
        assert kinds == ["message", "heartbeat", "heartbeat", "heartbeat"]
        acp.call(server_id, "test/echo")
        assert stream.next_message().number == 2


@pytest.mark.clause("spec1-3.4-heartbeat")
def test_a_busy_stream_gets_no_heartbeats(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_ACP_HEARTBEAT_MS": "500"}).acp
    server_id = acp.start()
    acp.notify(server_id, "test/flood", {"count": 30, "batch": 1, "pause_ms": 30})
    with acp.stream(server_id) as stream:
        assert [stream.next().kind for _ in range(31)] == ["message"] * 31


def test_the_stream_of_an_exited_agent_still_beats(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_ACP_HEARTBEAT_MS": "100"}).acp
    server_id = acp.start()
    acp.send(server_id, "test/exit")
    with acp.stream(server_id) as stream:
        stream.take(2)
        assert stream.next().kind == "heartbeat"


@pytest.mark.clause("promise-O")
def test_there_is_no_retry_line_and_no_id_on_control_frames(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_ACP_HEARTBEAT_MS": "50"}).acp
    server_id = acp.start()
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id), headers={"last-event-id": "99"}))
        connection.read_head()
        data = b""
        while data.count(b": heartbeat\n\n") < 2:
            data += connection.read_chunk()
    assert b"retry" not in data
    assert data.startswith(b'event: gap\ndata: {"oldest":1,"newest":1}\n\nevent: message\nid: 1\n')


def test_a_reader_that_leaves_is_forgotten(acp: Acp, server_id: str) -> None:
    streams = [acp.stream(server_id) for _ in range(10)]
    wait_until(lambda: acp.entry(server_id)["subscribers"] == 10, 5, "ten subscribers")
    for stream in streams:
        stream.close()
    wait_until(lambda: acp.entry(server_id)["subscribers"] == 0, 5, "no subscriber")


def test_a_reader_that_leaves_does_not_end_the_agent_or_its_requests(acp: Acp, server_id: str) -> None:
    held = acp.in_background(acp.send, server_id, "test/hold", request_id="h")
    acp.wait_until_pending(server_id, 1)
    with acp.stream(server_id) as stream:
        stream.next_message()
    acp.notify(server_id, "test/release")
    assert held.result(8).status == 200


def test_three_hundred_readers_all_get_everything(acp: Acp, server_id: str) -> None:
    streams = [acp.stream(server_id, timeout=20) for _ in range(300)]
    try:
        acp.call(server_id, "test/flood", {"count": 50})
        for stream in streams:
            assert [event.number for event in stream.take(52, timeout=20)] == list(range(1, 53))
    finally:
        for stream in streams:
            stream.close()


def test_the_connection_is_open_for_a_stream_while_the_first_post_still_starts(acp: Acp) -> None:
    """The published client fires its GET together with the first POST, and then again after it."""
    server_id = acp.new_id()
    post = acp.in_background(acp.call, server_id, "test/echo", agent=AGENT, request_id="first")
    post.result(8)
    with acp.stream(server_id) as stream:
        assert stream.next_message().json()["id"] == "first"
