"""Headers that keep pages of other sites from reading responses: on every response, whatever its status."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.ours
SETTINGS = {"SANDBOX_AGENT_ACP_EARLY_HEADER_MS": "500", "SANDBOX_AGENT_REQUEST_TIMEOUT_MS": "2000"}
ORIGIN = "https://app.example"
JUNK = {"content-type": "application/json"}
REQUESTS = [
    ("GET", "/", {}, 200),
    ("GET", "/openapi.json", {}, 200),
    ("GET", "/docs", {}, 200),
    ("GET", "/ui/", {}, 200),
    ("GET", "/ui/assets/none.js", {}, 404),
    ("GET", "/v1/health", {}, 200),
    ("HEAD", "/v1/health", {}, 200),
    ("GET", "/v1/agents", {}, 200),
    ("GET", "/v1/acp", {}, 200),
    ("OPTIONS", "/v1/acp", {}, 200),
    ("GET", "/v1/fs/entries?path=/usr", {}, 200),
    ("GET", "/v1/fs/file?path=/etc/passwd", {}, 200),
    ("GET", "/v1/fs/file?path=/etc/passwd", {"range": "bytes=0-3"}, 206),
    ("GET", "/v1/fs/file?path=/etc/passwd", {"range": "bytes=99999999-"}, 416),
    ("GET", "/v1/fs/file?path=/proc/self/maps", {}, 200),
    ("GET", "/v1/fs/download?path=/etc/apt", {}, 200),
    ("GET", "/v1/fs/file", {}, 400),
    ("GET", "/v1/acp/unknown", {}, 404),
    ("POST", "/v1/acp/unknown", {}, 415),
    ("POST", "/v1/acp/unknown", JUNK, 400),
    ("DELETE", "/v1/acp/unknown", {}, 404),
    ("PUT", "/v1/health", {}, 405),
    ("GET", "/nowhere", {}, 404),
    ("GET", "/v1/health", {"authorization": "Bearer wrong"}, 401),
    ("GET", "/v1/health", {"host": "rebound.example"}, 421),
    ("GET", "/v1/health", {"origin": "https://evil.example"}, 403),
    ("GET", "/v1/health", {"sec-fetch-site": "cross-site"}, 403),
]


def assert_headers(headers: Iterable[tuple[str, str]]) -> None:
    pairs = list(headers)
    assert pairs.count(("x-content-type-options", "nosniff")) == 1, pairs
    assert pairs.count(("cross-origin-resource-policy", "same-origin")) == 1, pairs
    assert len({name for name, _ in pairs}) == len(pairs), pairs


@pytest.mark.parametrize(("method", "path", "headers", "status"), REQUESTS)
@pytest.mark.clause("security-H6")
def test_every_response_forbids_sniffing_and_use_by_other_sites(
    module_server: ServerProcess, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    body = b"junk" if method == "POST" else None
    answer = module_server.client.request(method, path, headers=headers, body=body)
    assert answer.status == status
    assert_headers(answer.headers)


@pytest.mark.clause("security-H6")
def test_messages_and_streams_have_the_headers_too(module_server: ServerProcess) -> None:
    acp = module_server.acp
    server_id = acp.start()
    assert_headers(acp.send(server_id, "test/echo").headers)
    assert_headers(acp.post(server_id, message("test/none")).headers)
    client = acp.client
    with client.connect() as connection:
        connection.send(client.build("GET", acp.path(server_id)))
        assert_headers(connection.read_head()[1])
    # The second of two equal heads on one connection is answered without reading the head again.
    request = client.build(
        "POST", acp.path(server_id), headers=JSON_HEADERS, body=message("test/echo", {}, 1)
    )
    with client.connect() as connection:
        for _ in range(3):
            connection.send(request)
            assert_headers(connection.read_answer().headers)
    acp.notify(server_id, "test/exit", {"code": 3})
    assert_headers(acp.send(server_id, "test/echo").headers)
    assert_headers(acp.delete(server_id).headers)


@pytest.mark.clause("security-H6")
def test_headers_that_are_sent_early_are_complete(module_server: ServerProcess) -> None:
    acp = module_server.acp
    server_id = acp.start()
    with acp.open_post(server_id, message("test/answer_after", {"ms": 1500}, 7)) as connection:
        status, headers, _ = connection.read_head()
        assert status == 200 and ("transfer-encoding", "chunked") in headers
        assert_headers(headers)


@pytest.mark.clause("security-H6")
def test_an_allowed_origin_gets_them_beside_its_own(start_server) -> None:
    client = start_server(arguments=["-O", ORIGIN]).client
    for path, authorized, status in (
        ("/v1/health", True, 200),
        ("/v1/health", False, 401),
        ("/x", True, 404),
    ):
        answer = client.get(path, headers={"origin": ORIGIN}, authorized=authorized)
        assert answer.status == status
        assert answer.header("access-control-allow-origin") == ORIGIN
        assert_headers(answer.headers)
    preflight = {"origin": ORIGIN, "access-control-request-method": "POST"}
    assert_headers(client.request("OPTIONS", Acp.path("x", AGENT), headers=preflight).headers)


@pytest.mark.own_server("uvicorn answers requests that it cannot read, in its own words")
@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x00\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 70_000 + b"\r\n\r\n", 431),
        (b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999999999\r\n\r\n", 401),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n", 400),
    ],
)
@pytest.mark.clause("security-H6")
def test_requests_that_reach_no_handler_get_them(
    module_server: ServerProcess, data: bytes, status: int
) -> None:
    with module_server.client.connect() as connection:
        connection.send(data)
        answer = connection.read_answer()
    assert answer.status == status
    assert_headers(answer.headers)


@pytest.mark.own_server("uvicorn has its own time-outs")
@pytest.mark.clause("security-H6")
def test_a_request_that_does_not_arrive_gets_them(module_server: ServerProcess) -> None:
    with module_server.client.connect() as connection:
        connection.send(b"GET /v1/health HTTP/1.1\r\nhost:")
        answer = connection.read_answer()
    assert answer.status == 408
    assert_headers(answer.headers)


@pytest.mark.clause("inspector-served", "security-H6")
@pytest.mark.parametrize("path", ["/ui/", "/ui/sessions/x", "/docs"])
def test_pages_cannot_be_framed(module_server: ServerProcess, path: str) -> None:
    answer = module_server.client.get(path, authorized=False)
    assert answer.header("x-frame-options") == "DENY"
    policy = (answer.header("content-security-policy") or "").split("; ")
    assert "frame-ancestors 'none'" in policy


@pytest.mark.clause("inspector-served")
def test_a_page_names_all_that_its_response_depends_on_in_one_header(module_server: ServerProcess) -> None:
    answer = module_server.client.get("/ui/", authorized=False)
    varying = [value for name, value in answer.headers if name == "vary"]
    assert len(varying) == 1
    assert {"origin", "accept-encoding"} <= set(varying[0].split(", "))
