"""Routes that exist, routes that do not, methods, HEAD, OPTIONS and query parameters."""

from __future__ import annotations

import json

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.clients.raw_http import Client
from tests.support.problems import assert_problem

VARY = "origin, access-control-request-method, access-control-request-headers"


@pytest.mark.clause("spec1-10-root-and-health")
def test_root_names_the_product_without_a_token(client: Client) -> None:
    answer = client.get("/", authorized=False)
    assert answer.status == 200
    assert answer.header("content-type") == "application/json"
    document = answer.json()
    assert list(document) == ["docs", "name"]
    assert document["name"] == "Sandbox Agent"


@pytest.mark.clause("spec1-10-root-and-health")
def test_health_is_exactly_status_ok(client: Client) -> None:
    answer = client.get("/v1/health")
    assert (answer.status, answer.body) == (200, b'{"status":"ok"}')
    assert answer.header("content-type") == "application/json"
    assert answer.header("content-length") == "15"


def test_json_answers_carry_no_server_header_and_the_common_vary(client: Client) -> None:
    for path in ("/", "/v1/health", "/v1/acp", "/nowhere"):
        answer = client.get(path)
        assert answer.header("server") is None
        assert answer.header("vary") == VARY, path
        assert answer.header("content-encoding") is None


def test_answers_are_not_compressed_even_if_the_client_would_like_it(client: Client) -> None:
    answer = client.get("/v1/health", headers={"accept-encoding": "gzip, br, zstd"})
    assert answer.body == b'{"status":"ok"}'


@pytest.mark.clause(
    "spec1-2-opencode-disabled", "spec1-2-rpc-removed", "spec1-10-removed", "decision-19", "decision-21"
)
@pytest.mark.parametrize(
    "path",
    [
        "/v1",
        "/v1/",
        "/v1/health/",
        "/v1/acp/",
        "/v1/rpc",
        "/v1/sessions",
        "/v1/sessions/abc/messages",
        "/opencode",
        "/opencode/session",
        "/nowhere",
        "/v2/health",
        "/v1/acp/a/b",
        "/V1/health",
        "//v1/health",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_path_is_a_404_problem(client: Client, path: str, method: str) -> None:
    answer = client.request(method, path, headers=JSON_HEADERS, body=b"{}" if method == "POST" else None)
    problem = assert_problem(answer, 404, "not_found", "Not Found")
    assert problem["detail"] == "endpoint not found"
    assert list(problem) == ["type", "title", "status", "detail"]


@pytest.mark.clause("spec1-10-acp-inventory", "decision-21")
@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "PROPFIND"])
def test_a_wrong_method_on_an_instance_is_405_and_names_the_right_ones(client: Client, method: str) -> None:
    answer = client.request(method, "/v1/acp/some-id", headers=JSON_HEADERS, body=b"{}")
    problem = assert_problem(answer, 405, "method_not_allowed", "Method Not Allowed")
    assert answer.header("allow") == "POST,GET,HEAD,DELETE"
    assert problem["detail"] == f"method not allowed: {method}"


@pytest.mark.own_server("uvicorn answers requests that it cannot read, in its own words")
@pytest.mark.ours
def test_an_unknown_method_is_405_too_and_ends_the_connection(client: Client) -> None:
    with client.connect() as connection:
        connection.send(client.build("BREW", "/v1/acp/some-id") + client.build("BREW", "/v1/acp"))
        answer = connection.read_answer()
        problem = assert_problem(answer, 405, "method_not_allowed", "Method Not Allowed")
        assert problem["detail"] == "method not allowed: BREW"
        assert answer.header("allow") == "POST,GET,HEAD,DELETE"
        assert connection.is_closed_by_peer()


@pytest.mark.clause("spec1-10-acp-inventory")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_a_wrong_method_on_the_list_is_405_and_names_the_right_ones(client: Client, method: str) -> None:
    answer = client.request(method, "/v1/acp", headers=JSON_HEADERS, body=b"{}")
    assert_problem(answer, 405, "method_not_allowed", "Method Not Allowed")
    assert answer.header("allow") == "GET,HEAD"


@pytest.mark.clause("http-head-and-options")
@pytest.mark.parametrize("path", ["/", "/v1/health", "/v1/acp", "/nowhere"])
def test_head_is_get_without_the_body(client: Client, path: str) -> None:
    full, head = client.get(path), client.request("HEAD", path)
    assert head.status == full.status
    assert head.body == b""
    assert head.header("content-type") == full.header("content-type")
    assert head.header("content-length") == full.header("content-length")


@pytest.mark.clause("http-head-and-options")
def test_head_on_a_stream_says_so_and_ends_at_once(acp: Acp, server_id: str) -> None:
    with acp.client.connect() as connection:
        connection.send(acp.client.build("HEAD", acp.path(server_id)))
        head = connection.read_answer(to_head=True)
        assert head.status == 200
        assert head.header("content-type") == "text/event-stream"
        connection.send(acp.client.build("GET", "/v1/health", headers={"connection": "close"}))
        assert connection.read_to_end().startswith(b"HTTP/1.1 200 ")


@pytest.mark.clause("http-head-and-options")
def test_options_without_origin_names_the_methods(client: Client) -> None:
    answer = client.request("OPTIONS", "/v1/acp/some-id")
    assert answer.status == 200
    assert set((answer.header("allow") or "").replace(" ", "").split(",")) >= {
        "POST",
        "GET",
        "HEAD",
        "DELETE",
    }


def test_unknown_query_parameters_are_ignored(acp: Acp) -> None:
    server_id = acp.new_id()
    body = message("test/echo", request_id=1)
    path = f"/v1/acp/{server_id}?x=1&agent={AGENT}&x=2&sessionId=no"
    answer = acp.client.request("POST", path, headers=JSON_HEADERS, body=body)
    assert answer.status == 200
    assert acp.client.get("/v1/health?verbose=1&verbose=2").status == 200


@pytest.mark.clause("decision-21")
def test_agent_given_twice_is_400(acp: Acp) -> None:
    path = f"/v1/acp/{acp.new_id()}?agent={AGENT}&agent={AGENT}"
    answer = acp.client.request("POST", path, headers=JSON_HEADERS, body=message("test/echo", request_id=1))
    problem = assert_problem(answer, 400, "invalid_request", "Invalid Request")
    assert problem["detail"].startswith("invalid request: ")


@pytest.mark.clause("spec1-2-opencode-disabled", "spec1-2-rpc-removed")
def test_the_old_rpc_and_opencode_routes_start_nothing(acp: Acp) -> None:
    before = len(acp.list())
    for path in (f"/v1/rpc?agent={AGENT}", f"/opencode/session?agent={AGENT}"):
        answer = acp.client.request(
            "POST", path, headers=JSON_HEADERS, body=message("initialize", request_id=1)
        )
        assert_problem(answer, 404, "not_found", "Not Found")
    assert len(acp.list()) == before


def test_the_list_of_an_idle_server_is_an_empty_array(client: Client) -> None:
    answer = client.get("/v1/acp")
    assert json.loads(answer.body) == {"servers": []}
    assert answer.header("content-type") == "application/json"
