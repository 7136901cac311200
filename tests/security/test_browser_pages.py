"""A page in the user's browser against a server on the same machine, without and with a token."""

from __future__ import annotations

import pytest

from tests.support.problems import assert_problem
from tests.support.server_process import ServerProcess

EVIL = {"origin": "https://evil.example"}


@pytest.fixture
def open_server(start_server) -> ServerProcess:
    """The worst case: no token at all."""
    server: ServerProcess = start_server(token=None)
    return server


@pytest.mark.clause("security-browser")
@pytest.mark.parametrize(
    "content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_a_form_cannot_start_an_agent_even_without_an_origin(open_server, content_type: str) -> None:
    """These three need no preflight; old browsers send no Origin with some of them."""
    body = b'{"jsonrpc":"2.0","id":1,"method":"x"}'
    for headers in ({"content-type": content_type}, {"content-type": content_type, **EVIL}):
        answer = open_server.client.request("POST", "/v1/acp/x?agent=amp", headers=headers, body=body)
        assert answer.status in (403, 415), answer.body
    assert open_server.acp.list() == []


@pytest.mark.clause("security-browser")
def test_a_cross_site_post_of_json_is_refused_before_it_runs_anything(open_server) -> None:
    headers = {"content-type": "application/json", **EVIL}
    answer = open_server.client.request(
        "POST", "/v1/acp/x?agent=amp", headers=headers, body=b'{"id":1,"method":"x"}'
    )
    assert_problem(answer, 403, "forbidden_origin")
    assert answer.header("access-control-allow-origin") is None
    assert open_server.acp.list() == []


@pytest.mark.clause("security-browser")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/fs/file?path=stolen"),
        ("DELETE", "/v1/fs/entry?path=x"),
        ("POST", "/v1/fs/mkdir?path=x"),
        ("POST", "/v1/agents/mock/install"),
        ("DELETE", "/v1/acp/x"),
        ("GET", "/v1/fs/file?path=x"),
        ("OPTIONS", "/v1/acp/x"),
    ],
)
def test_no_foreign_page_gets_anything_done(open_server, method: str, path: str) -> None:
    for origin in ("https://evil.example", "null", "http://127.0.0.1.evil.example", "file://"):
        answer = open_server.client.request(method, path, headers={"origin": origin})
        assert_problem(answer, 403, "forbidden_origin")
    assert not (open_server.home / "stolen").exists()


@pytest.mark.clause("security-browser")
def test_a_name_that_was_rebound_to_this_machine_gets_nothing(open_server) -> None:
    host = f"rebound.example:{open_server.port}"
    same_site = {"host": host, "origin": f"http://{host}"}
    for method, path in (("GET", "/v1/acp"), ("GET", "/"), ("GET", "/ui/"), ("POST", "/v1/acp/x?agent=amp")):
        assert_problem(
            open_server.client.request(method, path, headers=same_site), 421, "misdirected_request"
        )


@pytest.mark.clause("security-browser")
def test_the_inspector_cannot_be_framed_and_its_types_are_not_guessed(open_server) -> None:
    answer = open_server.client.get("/ui/")
    assert answer.header("x-content-type-options") == "nosniff"
    policy = answer.header("content-security-policy") or ""
    assert "frame-ancestors" in policy or answer.header("x-frame-options")
