"""/acp over HTTP: which stream carries which message, what is held, resuming, and lost connections."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.support.clients.event_stream import EventStream
from tests.support.clients.raw_http import Client
from tests.support.clients.remote_acp import RemoteConnection, encode
from tests.support.problems import assert_problem
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.ours

# Long enough that no test meets the end of a hold by accident.
SETTINGS = {"SANDBOX_AGENT_ACP_HOLD_MS": "20000", "SANDBOX_AGENT_REPLAY_MAX_EVENTS": "40"}


@pytest.fixture
def connection(module_server: ServerProcess) -> RemoteConnection:
    return RemoteConnection(module_server.client)


@pytest.fixture
def eager(start_server: Callable[..., ServerProcess]) -> RemoteConnection:
    """A connection whose messages are held for half a second only."""
    return RemoteConnection(start_server(settings={"SANDBOX_AGENT_ACP_HOLD_MS": "500"}).client)


def wait_for_no_subscriber(server: ServerProcess, connection: RemoteConnection) -> None:
    wait_until(lambda: (server.acp.entry(connection.id) or {})["subscribers"] == 0, 5, "the end of a stream")


def answered(stream: EventStream) -> int:
    """The id of the next message of a stream, which is an answer."""
    message = stream.next_message().json()
    assert "method" not in message
    return int(message["id"])


@pytest.mark.clause("remote-routing")
def test_answers_go_where_their_requests_came_from(connection: RemoteConnection) -> None:
    with connection.stream() as stream, connection.stream("s") as session:
        new = connection.request("session/new", cwd="/")
        load = connection.request("session/load", "s", sessionId="s")
        other = connection.request("test/echo")
        assert [answered(stream) for _ in range(3)] == [new, load, other]
        prompt = connection.request("session/prompt", "s", sessionId="s")
        by_params = connection.request("session/set_mode", sessionId="s")
        by_header = connection.request("test/echo", "s")
        resumed = connection.request("session/resume", "s", sessionId="s")
        forked = connection.request("session/fork", "s", sessionId="s")
        wanted = [prompt, by_params, by_header, resumed, forked]
        assert [answered(session) for _ in wanted] == wanted
        assert stream.has_nothing_for(0.2)


@pytest.mark.clause("remote-routing")
def test_messages_of_the_agent_go_by_their_session(connection: RemoteConnection) -> None:
    with connection.stream() as stream, connection.stream("a") as one, connection.stream("b") as two:
        connection.write(
            encode("session/update", params={"sessionId": "a", "n": 1}),
            encode("session/update", params={"sessionId": "b", "n": 2}),
            encode("session/request_permission", 1, params={"sessionId": "a", "n": 3}),
            encode("fs/read_text_file", 2, params={"n": 4}),
            encode("_vendor/notice", params=["sessionId", 5]),
            encode("$/cancel_request", params={"requestId": 1, "sessionId": "a"}),
            encode(request_id="unknown", result={"sessionId": "a"}),
        )
        assert [event.json()["params"]["n"] for event in one.take(2)] == [1, 3]
        assert [event.json()["params"]["n"] for event in two.take(1)] == [2]
        methods = [event.json().get("method") for event in stream.take(4)]
        assert methods == ["fs/read_text_file", "_vendor/notice", "$/cancel_request", None]


@pytest.mark.clause("remote-routing")
def test_unusual_spellings_of_a_session_are_understood(connection: RemoteConnection) -> None:
    with connection.stream("s\u00e9") as session:
        nested = b"[" * 2000 + b"]" * 2000
        connection.write(
            b'{"params":{"x":"\\ud800","sessionId":"s\\u00e9"},"method":"session/update"}',
            '{"method":"m","params":{"sessionId":"sé"}}'.encode(),
            b'{ "method" : "m" , "params" : { "sessionId" : "s\xc3\xa9", "deep" : ' + nested + b"}}",
        )
        assert [event.number for event in session.take(3)] == [1, 2, 3]


@pytest.mark.clause("remote-bytes")
def test_bytes_pass_unchanged_in_both_directions(connection: RemoteConnection, tmp_path: object) -> None:
    record = f"{tmp_path}/stdin"
    answer = b'{ "id" : 1e2 ,"result":{"b":1,"a":2, "b":3}, "x":"\\u00e9 \xc3\xa9"}'
    with connection.stream() as stream:
        connection.request("test/record", path=record)
        stream.next_message()
        body = b'{"params" : {"z":1.0,"a":[ ]}, "method":"test/nothing","id":1E2,"id":100.0}'
        assert connection.post(body).status == 202
        stream.next_message()
        connection.write(answer)
        assert stream.next_message().data == answer
    with open(record, "rb") as recorded:
        assert recorded.readline() == body + b"\n"


@pytest.mark.clause("remote-hold")
def test_messages_wait_for_the_stream_of_their_session(connection: RemoteConnection) -> None:
    with connection.stream() as stream:
        connection.write(*(connection.update("late", f"u{n}") for n in range(5)))
        connection.request("session/new")
        answered(stream)  # everything before it has been published
        with connection.stream("late") as session:
            texts = [event.json()["params"]["text"] for event in session.take(5)]
            assert texts == ["u0", "u1", "u2", "u3", "u4"]
        assert stream.has_nothing_for(0.2)


@pytest.mark.clause("remote-hold")
def test_a_session_stream_may_be_opened_before_the_session_exists(connection: RemoteConnection) -> None:
    with connection.stream("new"), connection.stream() as stream:
        connection.request("session/new")
        answered(stream)


@pytest.mark.clause("remote-hold")
def test_held_messages_go_to_the_connection_stream_in_order(eager: RemoteConnection) -> None:
    with eager.stream() as stream:
        began = time.monotonic()
        eager.write(eager.update("s", "held"))
        prompt = eager.request("session/prompt", "s", sessionId="s")
        assert stream.next_message().json()["params"]["text"] == "held"
        assert time.monotonic() - began > 0.4
        assert answered(stream) == prompt
        began = time.monotonic()
        eager.write(eager.update("s", "at once"))
        assert stream.next_message().json()["params"]["text"] == "at once"
        with eager.stream("s") as session:
            eager.write(eager.update("s", "later"))
            assert session.next_message().json()["params"]["text"] == "later"
            assert stream.has_nothing_for(0.7)
    eager.delete()


@pytest.mark.clause("remote-hold")
def test_nothing_is_passed_on_while_the_whole_client_is_away(eager: RemoteConnection) -> None:
    eager.write(eager.update("s", "held"))
    eager.request("session/new")
    wait_until(lambda: eager.client.get("/v1/acp").json()["servers"][0]["lastEventId"] == 3, 5, "messages")
    time.sleep(0.7)  # longer than messages are held while the connection stream is open
    with eager.stream() as stream, eager.stream("s") as session:
        assert session.next_message().json()["params"]["text"] == "held"
        answered(stream)
        assert stream.has_nothing_for(0.7)
    eager.delete()


@pytest.mark.clause("remote-hold")
def test_a_client_that_loads_without_a_session_stream_gets_history_then_answer(
    connection: RemoteConnection,
) -> None:
    with connection.stream() as stream:
        connection.write(connection.update("s", "history"))
        load = connection.request("session/load", sessionId="s")
        assert stream.next_message().json()["params"]["text"] == "history"
        assert answered(stream) == load
        prompt = connection.request("session/prompt", sessionId="s")
        assert answered(stream) == prompt


@pytest.mark.clause("remote-resume")
@pytest.mark.parametrize("session", [None, "s"])
def test_last_event_id_resumes_a_stream(connection: RemoteConnection, session: str | None) -> None:
    with connection.stream(session) as first:
        for _ in range(3):
            connection.request("test/echo", session)
        numbers = [event.number for event in first.take(3)]
        assert numbers == [1, 2, 3]
        with connection.stream(session, last_event_id=1) as second:  # takes over
            assert [event.number for event in second.take(2)] == [2, 3]
            assert first.read_to_the_clean_end() == []
            connection.request("test/echo", session)
            assert second.next_message().number == 4
    with connection.stream(session, last_event_id=0) as third:
        assert [event.number for event in third.take(4)] == [1, 2, 3, 4]


@pytest.mark.clause("remote-resume")
def test_without_last_event_id_a_stream_goes_on_after_what_was_sent(
    module_server: ServerProcess, connection: RemoteConnection
) -> None:
    with connection.stream() as first:
        connection.request("test/echo")
        first.next_message()
    wait_for_no_subscriber(module_server, connection)
    connection.request("test/echo")
    with connection.stream() as second:
        assert second.next_message().number == 2


@pytest.mark.clause("remote-resume")
def test_events_that_left_the_memory_are_resumed_from_disk(connection: RemoteConnection) -> None:
    lines = [encode("session/update", params={"sessionId": "ab"[n % 2], "n": n}) for n in range(400)]
    for start in range(0, 400, 50):
        connection.write(*lines[start : start + 50])
    with connection.stream() as stream:
        connection.request("session/new")
        answered(stream)
    with connection.stream("a", last_event_id=0) as session:
        assert [event.json()["params"]["n"] for event in session.take(200)] == list(range(0, 400, 2))
    with connection.stream("a", last_event_id=150) as session:
        assert [event.number for event in session.take(50)] == list(range(151, 201))


@pytest.mark.clause("remote-resume")
def test_what_is_not_retained_any_more_is_a_gap(start_server: Callable[..., ServerProcess]) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}
    server = start_server(settings=settings)
    connection = RemoteConnection(server.client)
    with connection.stream() as stream:
        for _ in range(30):
            connection.request("test/echo")
            stream.take(1)  # one by one: this stream would have a gap too, if it fell behind
        with connection.stream(last_event_id=2) as late:
            gap, *kept = late.take(11)
            assert gap.json() == {"oldest": 21, "newest": 30}
            assert [event.number for event in kept] == list(range(21, 31))
        with connection.stream(last_event_id=99) as future:
            gap, *kept = future.take(11)
            assert (gap.kind, gap.json()) == ("gap", {"oldest": 21, "newest": 30})
            assert [event.number for event in kept] == list(range(21, 31))
            connection.request("test/echo")
            assert future.next_message().number == 31
    connection.delete()


@pytest.mark.clause("remote-one-log")
def test_a_connection_is_an_instance_that_observers_read(module_server: ServerProcess) -> None:
    connection = RemoteConnection(module_server.client)
    with connection.stream(), connection.stream("s") as session:
        (row,) = [row for row in module_server.acp.list() if row["serverId"] == connection.id]
        assert (row["status"], row["subscribers"]) == ("running", 2)
        connection.write(connection.update("s", "seen by both"))
        with module_server.acp.stream(connection.id) as observer:
            first, second = observer.take(2)
        assert first.json()["id"] == 0  # the answer to initialize, which no stream of the client repeats
        assert second.data == session.next_message().data
        assert module_server.acp.delete(connection.id).status == 204
        assert session.read_to_the_clean_end() == []
    assert_problem(connection.post(encode("test/echo", 1)), 404, "not_found")


def instances(client: Client) -> set[str]:
    return {row["serverId"] for row in client.get("/v1/acp").json()["servers"]}


@pytest.mark.clause("remote-detach")
def test_a_lost_connection_keeps_its_agent_for_a_while(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_ACP_DETACH": "2"})
    connection = RemoteConnection(server.client)
    with connection.stream():
        pass
    with connection.stream(last_event_id=0) as stream:  # back in time
        connection.request("test/echo")
        answered(stream)
        assert stream.has_nothing_for(2.5)
        began = time.monotonic()
    wait_until(lambda: not instances(server.client), 8, "the end of the lost connection")
    assert time.monotonic() - began > 1.5


@pytest.mark.clause("remote-detach")
def test_without_a_time_for_it_a_lost_connection_ends_at_once(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server(settings={"SANDBOX_AGENT_ACP_DETACH": "0"})
    connection = RemoteConnection(server.client)
    with connection.stream() as stream, connection.stream("s"):
        stream.connection.close()
        connection.request("test/echo", "s")
    wait_until(lambda: not instances(server.client), 5, "the end of the lost connection")
    assert connection.delete().status == 202  # the official clients close their streams first


@pytest.mark.clause("remote-detach")
def test_detached_connections_make_room_at_the_limit(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_MAX_INSTANCES": "3"})
    client = server.client
    lost, kept, lost_later = (RemoteConnection(client) for _ in range(3))
    with kept.stream():
        for connection in (lost, lost_later):
            with connection.stream():
                pass
            wait_for_no_subscriber(server, connection)
        newer = RemoteConnection(client)
        assert instances(client) == {kept.id, lost_later.id, newer.id}
        server.acp.start("plain")  # an instance of /v1/acp needs the room as well
        assert instances(client) == {kept.id, newer.id, "plain"}
        assert_problem(RemoteConnection.initialize(client, kept.path), 503, "too_many_instances")
