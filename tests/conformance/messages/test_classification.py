"""Request, notification or response: what a posted envelope is taken for."""

from __future__ import annotations

import json

import pytest

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.event_stream import method_is


@pytest.mark.clause("spec1-3.3-request", "decision-11")
@pytest.mark.parametrize(
    "request_id", [0, 1, -5, 1.5, "text", "", None, True, False, [], [1, "x"], {}, {"a": None}]
)
def test_method_and_any_id_is_a_request_and_waits_for_its_answer(
    acp: Acp, server_id: str, request_id
) -> None:
    answer = acp.post(server_id, {"jsonrpc": "2.0", "id": request_id, "method": "test/echo", "params": {}})
    assert answer.status == 200
    assert answer.header("content-type") == "application/json"
    assert answer.json()["id"] == request_id and type(answer.json()["id"]) is type(request_id)


@pytest.mark.clause("spec1-3.3-no-inspection")
@pytest.mark.parametrize("method", [None, 1, "", [], {"a": 1}, False])
def test_a_method_of_any_value_makes_a_request(acp: Acp, server_id: str, method) -> None:
    answer = acp.post(server_id, {"jsonrpc": "2.0", "id": 5, "method": method})
    assert answer.status == 200
    assert answer.json()["error"]["data"] == method


@pytest.mark.clause("spec1-3.3-notification-and-response")
@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "2.0", "method": "test/none"},
        {"jsonrpc": "2.0", "method": None},
        {"jsonrpc": "2.0", "id": 4, "result": {}},
        {"jsonrpc": "2.0", "id": "ask", "error": {"code": 1, "message": "no"}},
        {"jsonrpc": "2.0", "id": 4},
        {},
        {"anything": ["else"]},
    ],
)
def test_everything_else_is_202_with_an_empty_body_and_no_content_type(
    acp: Acp, server_id: str, body
) -> None:
    answer = acp.post(server_id, body)
    assert (answer.status, answer.body) == (202, b"")
    assert answer.header("content-length") == "0"
    assert answer.header("content-type") is None
    assert answer.header("transfer-encoding") is None


@pytest.mark.clause("spec1-3.3-notification-and-response")
def test_a_notification_reaches_the_agent(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        acp.notify(server_id, "test/ask_client", {"id": "from-a-notification"})
        stream.until(lambda event: b"from-a-notification" in event.data)


@pytest.mark.clause("spec1-3.3-notification-and-response", "spec1-8-e2e")
def test_an_answer_of_the_client_reaches_the_agent(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/ask_client", {"id": "q1"})
        question = stream.until(lambda event: b'"q1"' in event.data)[-1]
        assert question.json()["method"] == "client/ask"
        body = b'{"jsonrpc":"2.0","id":"q1","result":{"outcome":"yes"}}'
        assert acp.post(server_id, body).status == 202
        told = stream.until(method_is("test/client_answered"))[-1]
        assert bytes.fromhex(told.json()["params"]["hex"]) == body


def test_two_clients_answer_and_the_agent_gets_both(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/ask_client", {"id": "q1"})
        for word in ("one", "two"):
            assert acp.post(server_id, {"id": "q1", "result": word}).status == 202
        heard = [stream.until(method_is("test/client_answered"))[-1].json() for _ in range(2)]
        lines = [json.loads(bytes.fromhex(event["params"]["hex"])) for event in heard]
        assert [line["result"] for line in lines] == ["one", "two"]


def test_an_error_of_the_agent_is_a_200(acp: Acp, server_id: str) -> None:
    answer = acp.send(server_id, "no/such/method", request_id=9)
    assert answer.status == 200
    assert answer.json()["error"]["code"] == -32601


@pytest.mark.clause(
    "spec1-1-dumb-proxy",
    "spec1-2-extensions-removed",
    "spec1-2-no-session-registry",
    "spec1-3.3-no-inspection",
    "spec1-6-metadata-belongs-to-clients",
    "spec1-8-no-special-methods",
)
@pytest.mark.parametrize(
    "method",
    [
        "_sandboxagent/session/set_metadata",
        "_sandboxagent/session/list",
        "_sandboxagent/session/get",
        "_sandboxagent/session/detach",
        "_sandboxagent/session/request_question",
        "_sandboxagent/agent/list",
        "_sandboxagent/fs/read_file",
        "_adapter/agent_exited",
        "_adapter/invalid_stdout",
        "$/cancel_request",
        "session/new",
        "initialize",
    ],
)
def test_no_method_is_handled_by_the_server(acp: Acp, server_id: str, method: str) -> None:
    """The scripted agent, not the server, answers each method, with its own error."""
    params = {"_meta": {"sandboxagent.dev": {"agent": "pi", "title": "x"}}, "sessionId": "s"}
    answer = acp.send(server_id, method, params)
    assert answer.status == 200
    assert answer.json()["error"] == {"code": -32601, "message": "no such behaviour", "data": method}
    assert acp.post(server_id, message(method, params)).status == 202


@pytest.mark.clause("spec1-2-metadata-contract-removed", "spec1-4-no-injection", "decision-37")
def test_meta_passes_through_untouched_both_ways(acp: Acp, server_id: str) -> None:
    meta = {"_meta": {"sandboxagent.dev": {"title": "t", "agent": "pi"}}}
    assert acp.call(server_id, "test/echo", meta)["echo"] == meta


@pytest.mark.clause("spec1-2-extensions-removed", "spec1-4-nothing-synthetic", "decision-17")
def test_nothing_named_sandboxagent_is_ever_produced(acp: Acp) -> None:
    server_id = acp.new_id()
    acp.call(server_id, "test/garbage", agent=AGENT)
    acp.send(server_id, "test/exit", {"code": 3})
    acp.call(server_id, "test/echo", agent=AGENT)
    with acp.stream(server_id) as stream:
        events = stream.take(4)
    assert not any(b"sandboxagent" in event.data for event in events)
