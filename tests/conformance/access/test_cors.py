"""Pages of other sites that the operator allows."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.clients.raw_http import Client
from tests.support.server_process import bare_environment, free_port, server_command

ORIGIN = "https://app.example"
PREFLIGHT = {
    "origin": ORIGIN,
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}


def preflight(client: Client, origin: str = ORIGIN):
    return client.request("OPTIONS", "/v1/acp/x", headers={**PREFLIGHT, "origin": origin}, authorized=False)


@pytest.mark.clause("http-cors")
def test_a_preflight_of_an_allowed_origin_is_200_without_token_and_body(start_server) -> None:
    client = start_server(arguments=["--cors-allow-origin", ORIGIN]).client
    answer = preflight(client)
    assert (answer.status, answer.body) == (200, b"")
    assert answer.header("access-control-allow-origin") == ORIGIN
    assert answer.header("access-control-allow-methods") == "*"
    assert answer.header("access-control-allow-headers") == "*"
    assert answer.header("access-control-allow-credentials") is None
    assert answer.header("vary") == "origin, access-control-request-method, access-control-request-headers"


@pytest.mark.clause("http-cors")
def test_answers_to_an_allowed_origin_carry_its_name_errors_too(start_server) -> None:
    client = start_server(arguments=["-O", ORIGIN]).client
    headers = {"origin": ORIGIN}
    for path, authorized, status in (
        ("/v1/health", True, 200),
        ("/v1/health", False, 401),
        ("/x", True, 404),
    ):
        answer = client.get(path, headers=headers, authorized=authorized)
        assert answer.status == status
        assert answer.header("access-control-allow-origin") == ORIGIN
    assert client.get("/v1/health").header("access-control-allow-origin") is None


def test_the_stream_carries_the_name_of_an_allowed_origin(start_server) -> None:
    server = start_server(arguments=["-O", ORIGIN])
    server_id = server.acp.start()
    with server.client.connect() as connection:
        connection.send(server.client.build("GET", f"/v1/acp/{server_id}", headers={"origin": ORIGIN}))
        status, headers, _ = connection.read_head()
    assert status == 200
    assert dict(headers)["access-control-allow-origin"] == ORIGIN


@pytest.mark.clause("promise-K")
def test_an_origin_that_is_not_listed_is_403_preflight_included(start_server) -> None:
    client = start_server(arguments=["-O", ORIGIN, "-O", "http://second.example:8080"]).client
    assert preflight(client, "http://second.example:8080").status == 200
    for origin in ("https://evil.example", "http://app.example", "https://app.example:444", "null"):
        assert preflight(client, origin).status == 403
        assert client.get("/v1/health", headers={"origin": origin}).status == 403


@pytest.mark.clause("http-cors")
def test_methods_and_headers_can_be_listed(start_server) -> None:
    client = start_server(
        arguments=["-O", ORIGIN, "-M", "GET", "-M", "POST", "-A", "authorization", "-A", "x-y"]
    ).client
    answer = preflight(client)
    methods = (answer.header("access-control-allow-methods") or "").replace(" ", "")
    headers = (answer.header("access-control-allow-headers") or "").replace(" ", "")
    assert methods == "GET,POST"
    assert headers.lower() == "authorization,x-y"


@pytest.mark.clause("http-cors")
def test_credentials_spell_out_what_would_be_a_wildcard(start_server) -> None:
    client = start_server(arguments=["-O", ORIGIN, "-C"]).client
    answer = preflight(client)
    assert answer.header("access-control-allow-credentials") == "true"
    assert answer.header("access-control-allow-origin") == ORIGIN
    for name in ("access-control-allow-methods", "access-control-allow-headers"):
        assert answer.header(name) not in (None, "", "*")


@pytest.mark.clause("http-cors")
@pytest.mark.parametrize("extra", [[], ["-C"]])
def test_a_wildcard_origin_lets_every_site_in(start_server, extra: list[str]) -> None:
    client = start_server(arguments=["-O", "*", *extra]).client
    answer = client.get("/v1/health", headers={"origin": "https://any.example"})
    assert answer.status == 200
    allowed = answer.header("access-control-allow-origin")
    assert allowed == "https://any.example" if extra else allowed in ("*", "https://any.example")


@pytest.mark.clause("http-cors")
def test_credentials_alone_start_a_working_server(start_server) -> None:
    assert start_server(arguments=["-C"]).client.get("/v1/health").status == 200


@pytest.mark.own_server("the command line, its exit codes and its messages belong to the server command")
@pytest.mark.clause("http-cors")
@pytest.mark.parametrize(
    "arguments",
    [
        ["-O", "not an origin"],
        ["-O", "https://app.example/path"],
        ["-M", "GE T"],
        ["-A", "bad header"],
        ["-O", ""],
    ],
)
def test_a_malformed_cors_flag_is_exit_2_and_said_on_stderr(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [*server_command(), "server", "--port", str(free_port()), "--no-token", *arguments],
        capture_output=True,
        timeout=8,
        check=False,
        env=bare_environment(tmp_path),
    )
    assert done.returncode == 2
    assert done.stderr.strip()
