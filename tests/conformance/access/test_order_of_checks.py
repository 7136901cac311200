"""What a POST or GET is refused for, and which refusal comes first."""

from __future__ import annotations

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.clients.raw_http import Answer, Client
from tests.support.problems import assert_problem

ECHO = message("test/echo", request_id=1)
NOT_JSON_TYPES = ["", "text/json", "text/plain", "application/vnd.x+json", "application/jsonx", "json"]


def post(client: Client, path: str, headers: dict[str, str], body: bytes = ECHO) -> Answer:
    return client.request("POST", path, headers=headers, body=body)


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;x=y ; z=1"],
)
def test_json_content_types_in_any_case_and_with_parameters_are_fine(acp: Acp, content_type: str) -> None:
    answer = post(acp.client, acp.path(acp.new_id(), AGENT), {"content-type": content_type})
    assert answer.status == 200


@pytest.mark.clause("spec1-3.6-content-type")
@pytest.mark.parametrize("content_type", NOT_JSON_TYPES)
def test_any_other_content_type_is_415(acp: Acp, content_type: str) -> None:
    answer = post(acp.client, acp.path(acp.new_id(), AGENT), {"content-type": content_type})
    problem = assert_problem(answer, 415, "unsupported_media_type", "Unsupported Media Type")
    assert problem["detail"] == "unsupported media type: content-type must be application/json"
    assert problem["details"] == {"message": "content-type must be application/json"}


@pytest.mark.clause("spec1-3.6-content-type")
def test_a_missing_content_type_is_415(acp: Acp) -> None:
    answer = post(acp.client, acp.path(acp.new_id(), AGENT), {})
    assert_problem(answer, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    "accept",
    ["application/json", "application/*", "*/*", "text/html, application/json;q=0", "text/html,*/*;q=0.1"],
)
def test_accept_that_allows_json_anywhere_in_the_list_is_fine(acp: Acp, accept: str) -> None:
    headers = {"content-type": "application/json", "accept": accept}
    assert post(acp.client, acp.path(acp.new_id(), AGENT), headers).status == 200


@pytest.mark.parametrize("accept", ["", "text/html", "text/event-stream", "application/xml"])
@pytest.mark.parametrize("body", [ECHO, message("test/note")])
def test_accept_that_does_not_allow_json_is_406_for_requests_and_notifications(
    acp: Acp, accept: str, body: bytes
) -> None:
    headers = {"content-type": "application/json", "accept": accept}
    answer = post(acp.client, acp.path(acp.new_id(), AGENT), headers, body)
    problem = assert_problem(answer, 406, "not_acceptable", "Not Acceptable")
    assert problem["detail"] == "not acceptable: accept must allow application/json"


@pytest.mark.parametrize(
    "accept", ["text/event-stream", "text/*", "*/*", "application/json, text/event-stream"]
)
def test_a_stream_may_be_asked_for_in_these_words(acp: Acp, server_id: str, accept: str) -> None:
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id), headers={"accept": accept}))
        assert connection.read_head()[0] == 200


def test_a_stream_may_be_asked_for_without_accept(acp: Acp, server_id: str) -> None:
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id)))
        assert connection.read_head()[0] == 200


@pytest.mark.parametrize("accept", ["", "application/json", "text/html"])
def test_a_stream_asked_for_as_something_else_is_406(acp: Acp, server_id: str, accept: str) -> None:
    answer = acp.client.get(acp.path(server_id), headers={"accept": accept})
    problem = assert_problem(answer, 406, "not_acceptable")
    assert problem["details"] == {"message": "accept must allow text/event-stream"}


LONG = b"bG9uZyB0ZXh0" * 2000
BAD_JSON = {
    "empty": b"",
    "blank": b"  \n ",
    "half": b'{"jsonrpc":"2.0","id":1,',
    "two texts": b'{"id":1,"method":"a"}{"id":2,"method":"b"}',
    "trailing text": b'{"id":1,"method":"a"} x',
    "byte order mark": b'\xef\xbb\xbf{"id":1,"method":"a"}',
    "NaN": b'{"id":1,"method":"a","params":NaN}',
    "Infinity": b'{"id":1,"method":"a","params":-Infinity}',
    "invalid UTF-8": b'{"id":1,"method":"a","params":"\xff"}',
    "overlong UTF-8": b'{"id":1,"method":"a","params":"\xc0\xaf"}',
    "raw surrogate": b'{"id":1,"method":"a","params":"\xed\xa0\x80"}',
    "raw newline in a string": b'{"id":1,"method":"a","params":"x\ny"}',
    "raw tab in a string": b'{"id":1,"method":"a","params":"x\ty"}',
    "single quotes": b"{'id':1,'method':'a'}",
    "leading zero": b'{"id":01,"method":"a"}',
    "bare point": b'{"id":1.,"method":"a"}',
    "plus sign": b'{"id":+1,"method":"a"}',
    "trailing comma": b'{"id":1,"method":"a",}',
    "comment": b'{"id":1/**/,"method":"a"}',
    "bad escape": b'{"id":1,"method":"\\x41"}',
    "half unicode escape": b'{"id":1,"method":"\\u12"}',
    "bad literal": b'{"id":1,"method":"a","params":nul}',
    "unclosed deep": b'{"id":1,"method":"a","params":' + b"[" * 5000 + b"}",
    "vertical tab between tokens": b'{"id":1,\x0b"method":"a"}',
    "form feed between tokens": b'{"id":1,\x0c"method":"a"}',
    "NUL after": b'{"id":1,"method":"a"}\x00',
    "raw newline in a long string": b'{"id":1,"method":"a","params":"%b\n%b"}' % (LONG, LONG),
    "raw tab in a longer one": b'{"id":1,"method":"a","params":"%b\t%b"}' % (LONG * 9, LONG),
    "broken UTF-8 in a long string": b'{"id":1,"method":"a","params":"%b\xff%b"}' % (LONG, LONG),
    "bad escape in a long string": b'{"id":1,"method":"a","params":"%b\\x%b"}' % (LONG, LONG),
    "a long string without an end": b'{"id":1,"method":"a","params":"%b' % LONG,
    "something after a long string": b'{"id":1,"method":"a","params":"%b"}}' % LONG,
}


@pytest.mark.clause("spec1-3.3-one-envelope", "spec1-3.6-invalid-envelope", "decision-12")
@pytest.mark.parametrize("name", BAD_JSON)
def test_what_is_not_one_json_text_is_400_and_starts_nothing(acp: Acp, name: str) -> None:
    server_id = acp.new_id()
    problem = assert_problem(acp.post(server_id, BAD_JSON[name], agent=AGENT), 400, "invalid_request")
    assert problem["detail"].startswith("invalid request: invalid JSON body: ")
    assert acp.entry(server_id) is None


@pytest.mark.clause("spec1-3.3-one-envelope", "decision-12")
@pytest.mark.parametrize(
    "body", [b"[]", b'[{"id":1,"method":"a"}]', b'"text"', b"1", b"true", b"null", b" 1.5 "]
)
def test_json_that_is_not_an_object_is_400_and_starts_nothing(acp: Acp, body: bytes) -> None:
    server_id = acp.new_id()
    problem = assert_problem(acp.post(server_id, body, agent=AGENT), 400, "invalid_request")
    assert problem["detail"] == "invalid request: request body must be a JSON-RPC object"
    assert acp.entry(server_id) is None


@pytest.mark.clause("spec1-3.2-validate-agent", "http-order-of-checks")
def test_the_checks_of_a_post_come_in_the_order_of_the_table(acp: Acp) -> None:
    """Each request has this fault and all later ones; the earliest fault must be the one reported."""
    client, unknown = acp.client, acp.new_id()
    bad_type, bad_accept = {"content-type": "text/plain"}, {"accept": "text/html"}
    json_type = {"content-type": "application/json"}
    twice = f"/v1/acp/{unknown}?agent=unknown&agent=unknown"
    assert post(client, twice, {**bad_type, **bad_accept}, b"[").status == 400
    path = acp.path(unknown, "nobody")
    assert post(client, path, {**bad_type, **bad_accept}, b"[").status == 415
    assert post(client, path, {**json_type, **bad_accept}, b"[").status == 406
    assert "invalid JSON body" in post(client, path, JSON_HEADERS, b"[").json()["detail"]
    assert "must be a JSON-RPC object" in post(client, path, JSON_HEADERS, b"[]").json()["detail"]
    assert_problem(post(client, path, JSON_HEADERS), 400, "unsupported_agent")
    assert "missing required 'agent'" in post(client, acp.path(unknown), JSON_HEADERS).json()["detail"]


@pytest.mark.clause("http-order-of-checks")
def test_an_unknown_agent_on_a_living_instance_is_400_before_409(acp: Acp, server_id: str) -> None:
    assert_problem(acp.post(server_id, ECHO, agent="nobody"), 400, "unsupported_agent")


@pytest.mark.clause("http-order-of-checks")
def test_agent_mismatch_comes_before_the_id_in_flight(acp: Acp, server_id: str) -> None:
    waiting = acp.in_background(acp.send, server_id, "test/hold", request_id="h")
    acp.wait_until_pending(server_id, 1)
    problem = assert_problem(acp.send(server_id, "test/echo", request_id="h", agent="pi"), 409, "conflict")
    assert "already exists for agent" in problem["detail"]
    acp.notify(server_id, "test/release")
    assert waiting.result(8).status == 200


@pytest.mark.clause("http-order-of-checks")
def test_the_checks_of_a_get_come_in_the_order_of_the_table(acp: Acp) -> None:
    unknown = acp.path(acp.new_id())
    both = {"accept": "text/html", "last-event-id": "x"}
    assert acp.client.get(unknown, headers=both).status == 406
    assert acp.client.get(unknown, headers={"last-event-id": "x"}).status == 400
    assert_problem(acp.client.get(unknown), 404, "session_not_found")


@pytest.mark.clause("http-order-of-checks")
def test_delete_does_not_look_at_accept(acp: Acp, server_id: str) -> None:
    path = acp.path(server_id)
    answer = acp.client.request("DELETE", path, headers={"accept": "image/png"})
    assert answer.status == 204
    answer = acp.client.request("DELETE", acp.path(acp.new_id()), headers={"accept": ""})
    assert_problem(answer, 404, "session_not_found")


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":1,"method":"test/echo","params":{}}',
        b'{"jsonrpc":"1.0","id":1,"method":"test/echo","params":{}}',
        b'{"jsonrpc":2,"id":1,"method":"test/echo","params":{}}',
    ],
)
def test_the_jsonrpc_member_is_not_looked_at(acp: Acp, body: bytes) -> None:
    assert acp.post(acp.new_id(), body, agent=AGENT).status == 200
