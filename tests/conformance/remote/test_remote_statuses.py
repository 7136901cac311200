"""/acp over HTTP: the status of every request of the official transport."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS
from tests.support.clients.raw_http import Answer, Client
from tests.support.clients.remote_acp import INITIALIZE, RemoteConnection, encode
from tests.support.problems import assert_problem
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess, place_launcher

pytestmark = pytest.mark.ours

PATH = f"/acp?agent={AGENT}"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def connection(client: Client) -> RemoteConnection:
    return RemoteConnection(client)


def post(client: Client, body: bytes, path: str = PATH, **headers: str) -> Answer:
    return client.request("POST", path, headers={**JSON_HEADERS, **headers}, body=body)


@pytest.mark.clause("remote-handshake")
def test_initialize_is_answered_with_the_id_of_the_connection(connection: RemoteConnection) -> None:
    answer = connection.handshake
    assert answer.header("content-type") == "application/json"
    assert answer.json()["id"] == 0
    assert len(connection.id) == 36
    assert answer.header("set-cookie") == (
        f"acp_connection={connection.id}; Path=/; HttpOnly; SameSite=Strict"
    )
    assert answer.header("access-control-expose-headers") == "Acp-Connection-Id"


@pytest.mark.clause("remote-agent-choice")
@pytest.mark.parametrize("path", [f"/acp/{AGENT}", f"/acp?agent={AGENT}", f"/acp/{AGENT}?agent={AGENT}"])
def test_the_agent_is_named_in_the_path_or_in_the_query(client: Client, path: str) -> None:
    connection = RemoteConnection(client, path)
    rows = client.get("/v1/acp").json()["servers"]
    assert [row["agent"] for row in rows if row["serverId"] == connection.id] == [AGENT]


@pytest.mark.clause("remote-agent-choice")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/acp", "invalid_request"),
        (f"/acp/{AGENT}?agent=pi", "invalid_request"),
        ("/acp/no-such-agent", "unsupported_agent"),
        ("/acp?agent=no-such-agent", "unsupported_agent"),
    ],
)
def test_no_agent_two_agents_and_unknown_agents_are_refused(client: Client, path: str, kind: str) -> None:
    assert_problem(RemoteConnection.initialize(client, path), 400, kind)


@pytest.mark.clause("remote-agent-choice")
def test_a_default_agent_serves_the_bare_path(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_DEFAULT_AGENT": AGENT})
    connection = RemoteConnection(server.client, "/acp")
    assert [row["agent"] for row in server.acp.list()] == [AGENT]
    assert connection.delete().status == 202


@pytest.mark.clause("remote-statuses")
def test_messages_are_accepted_without_a_body(connection: RemoteConnection) -> None:
    assert connection.request("test/echo")
    notified = connection.post(encode("test/echo", params={}))
    answered = connection.post(encode(request_id=7, result={}))
    assert [(answer.status, answer.body) for answer in (notified, answered)] == [(202, b"")] * 2


@pytest.mark.clause("remote-statuses")
@pytest.mark.parametrize(
    ("body", "headers", "status", "kind"),
    [
        (encode("initialize", 0, params=INITIALIZE), {"content-type": "text/plain"}, 415, None),
        (b"{", {}, 400, "invalid_request"),
        (b"", {}, 400, "invalid_request"),
        (b"[" + encode("initialize", 0) + b"]", {}, 400, "invalid_request"),
        (b'"text"', {}, 400, "invalid_request"),
        (encode("session/new", 1), {}, 400, "invalid_request"),
        (encode("initialize"), {}, 400, "invalid_request"),
        (encode("session/new", 1), {"acp-connection-id": UNKNOWN}, 404, "not_found"),
        (encode("initialize", 0), {"acp-connection-id": UNKNOWN}, 400, "invalid_request"),
    ],
)
def test_posts_that_are_refused(
    client: Client, body: bytes, headers: dict[str, str], status: int, kind: str | None
) -> None:
    assert_problem(post(client, body, **headers), status, kind or "unsupported_media_type")


@pytest.mark.clause("remote-statuses")
def test_a_connection_is_initialized_once(connection: RemoteConnection) -> None:
    assert_problem(connection.post(encode("initialize", 1, params=INITIALIZE)), 400, "invalid_request")


@pytest.mark.clause("remote-statuses")
def test_a_body_that_is_too_long_is_refused(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_MAX_BODY_BYTES": "2000"})
    connection = RemoteConnection(server.client)
    long = encode("test/echo", 1, params={"pad": "x" * 3000})
    assert_problem(connection.post(long), 413, "payload_too_large")
    assert connection.request("test/echo")
    connection.delete()


@pytest.mark.clause("remote-statuses", "remote-tolerant")
@pytest.mark.parametrize(
    ("session", "params", "status"),
    [
        (None, {}, 400),
        ("s", {}, 202),
        (None, {"sessionId": "s"}, 202),
        ("s", {"sessionId": "s"}, 202),
        ("s", {"sessionId": "other"}, 400),
        ("x" * 1025, {}, 400),
        (None, ["sessionId"], 400),
        (None, {"sessionId": 1}, 400),
    ],
)
def test_the_session_of_a_prompt(
    connection: RemoteConnection, session: str | None, params: Any, status: int
) -> None:
    answer = connection.post(encode("session/prompt", 1, params=params), session)
    assert answer.status == status, answer.body


@pytest.mark.clause("remote-statuses", "remote-tolerant")
@pytest.mark.parametrize(("session", "status"), [(None, 202), ("s", 202), ("other", 400)])
def test_the_session_of_an_answer_is_that_of_the_request(
    connection: RemoteConnection, session: str | None, status: int
) -> None:
    with connection.stream("s") as stream:
        connection.write(encode("session/request_permission", 5, params={"sessionId": "s"}))
        stream.next_message()
        assert connection.post(encode(request_id=5, result={}), session).status == status


@pytest.mark.clause("remote-statuses")
def test_streams_that_are_refused(client: Client, connection: RemoteConnection) -> None:
    def status(**headers: str) -> int:
        return client.get(PATH, headers=headers).status

    assert status(accept="application/json", **{"acp-connection-id": connection.id}) == 406
    assert status(accept="text/event-stream") == 400
    assert status(accept="text/event-stream", **{"acp-connection-id": UNKNOWN}) == 404
    assert connection.open_stream_status("x" * 1025).status == 400
    assert connection.open_stream_status(**{"last-event-id": "first"}).status == 400
    with connection.stream(), connection.stream("s"):
        assert_problem(connection.open_stream_status(), 409, "conflict")
        assert_problem(connection.open_stream_status("s"), 409, "conflict")


@pytest.mark.clause("remote-statuses")
def test_other_methods_are_refused(client: Client) -> None:
    for path in ("/acp", "/acp/mock"):
        assert_problem(client.request("PUT", path), 405, "method_not_allowed")


@pytest.mark.clause("remote-statuses")
def test_the_number_of_session_streams_is_limited(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_ACP_MAX_SESSIONS": "2"})
    connection = RemoteConnection(server.client)
    with connection.stream("a"), connection.stream("b"):
        assert_problem(connection.open_stream_status("c"), 429, "too_many_streams")
        with connection.stream() as stream:
            connection.write(connection.update("c", "of a third session"))
            assert b"of a third session" in stream.next_message().data
    wait_until(lambda: server.acp.list()[0]["subscribers"] == 0, 5, "the end of the streams")
    with connection.stream("c"):  # a session without an open stream makes room
        pass
    connection.delete()


@pytest.mark.clause("remote-end")
def test_delete_ends_the_agent_and_can_be_repeated(client: Client, connection: RemoteConnection) -> None:
    with connection.stream() as stream:
        assert connection.delete().status == 202
        assert stream.read_to_the_clean_end() == []
    assert connection.delete().status == 202
    assert client.get("/v1/acp").json()["servers"] == []
    assert_problem(connection.post(encode("test/echo", 1)), 404, "not_found")
    assert_problem(connection.open_stream_status(), 404, "not_found")


@pytest.mark.clause("remote-statuses")
def test_delete_needs_the_id_of_a_connection(client: Client, server_id: str) -> None:
    assert client.request("DELETE", PATH).status == 400
    for other in (UNKNOWN, server_id):
        answer = client.request("DELETE", PATH, headers={"acp-connection-id": other})
        assert_problem(answer, 404, "not_found")


@pytest.mark.clause("remote-statuses")
def test_an_instance_of_v1_is_no_connection(client: Client, server_id: str) -> None:
    assert post(client, encode("test/echo", 1), **{"acp-connection-id": server_id}).status == 404


@pytest.mark.clause("remote-access")
def test_the_token_host_and_origin_are_checked_as_everywhere(client: Client) -> None:
    if client.token is None:
        pytest.skip("the server under test has no token")
    body = encode("initialize", 0, params=INITIALIZE)
    for path in ("/acp", "/acp/mock"):
        refused = client.request("POST", path, headers=JSON_HEADERS, body=body, authorized=False)
        assert_problem(refused, 401, "token_invalid")
        foreign = client.request(
            "POST", path, headers={**JSON_HEADERS, "origin": "http://evil.test"}, body=body
        )
        assert_problem(foreign, 403, "forbidden_origin")
        rebound = client.request("POST", path, headers={**JSON_HEADERS, "host": "evil.test"}, body=body)
        assert_problem(rebound, 421, "misdirected_request")
        page = client.request("GET", path, headers={"sec-fetch-site": "cross-site"})
        assert_problem(page, 403, "forbidden_origin")


@pytest.mark.clause("remote-end")
def test_an_agent_that_exits_answers_every_request_and_ends_the_streams(
    client: Client, connection: RemoteConnection
) -> None:
    with connection.stream() as stream, connection.stream("s") as session:
        silent = connection.request("test/silent", "s")
        connection.post(encode("test/exit", params={"code": 3}))
        answer = session.next_message().json()
        assert answer["id"] == silent
        assert answer["error"]["data"]["details"]["exitCode"] == 3
        methods = [event.json()["method"] for event in stream.read_to_the_clean_end()]
        assert methods == ["_adapter/agent_exited"]
        assert session.read_to_the_clean_end() == []
    assert_problem(connection.post(encode("test/echo", 1)), 502, "agent_process_exited")
    assert [row["status"] for row in client.get("/v1/acp").json()["servers"]] == ["exited"]


@pytest.mark.clause("remote-statuses")
def test_an_agent_that_does_not_start_leaves_no_connection(
    start_server: Callable[..., ServerProcess],
) -> None:
    server = start_server()
    place_launcher(server.data_home, AGENT, "#!/bin/sh\nexit 4\n")
    answer = RemoteConnection.initialize(server.client, PATH)
    assert_problem(answer, 502, "agent_process_exited")
    assert server.acp.list() == []
