"""The token: where it is asked for, how it is said, where it may never appear."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.raw_http import Client
from tests.support.problems import assert_problem
from tests.support.token_flags import started


@pytest.mark.clause("spec1-7-no-principals", "decision-22", "promise-J")
@pytest.mark.parametrize(
    "value",
    ["Bearer {}", "bearer {}", "BEARER {}", "Token {}", "token {}", "Bearer   {}", "Bearer {} "],
)
def test_both_schemes_are_accepted_in_any_case(client: Client, value: str) -> None:
    headers = {"authorization": value.format(client.token)}
    assert client.get("/v1/health", authorized=False, headers=headers).status == 200


@pytest.mark.clause("spec1-7-bearer", "decision-22", "promise-J")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-nothing", ""),
        ("authorization", ""),
        ("authorization", "{token}"),
        ("authorization", "Bearer"),
        ("authorization", "Bearer "),
        ("authorization", "Bearer x{token}"),
        ("authorization", "Bearer {token}x"),
        ("authorization", "Bearer {beginning}"),
        ("authorization", "Bearer {upper}"),
        ("authorization", "Basic {token}"),
        ("authorization", "Bearer{token}"),
        ("authorization", "Bearer {token}, Bearer {token}"),
        ("authorization", "Bearer \xff\xfe"),
        ("x-api-key", "{token}"),
        ("x-sandbox-agent-token", "{token}"),
        ("cookie", "token={token}"),
    ],
)
def test_anything_else_is_401(client: Client, name: str, value: str) -> None:
    token = client.token or ""
    said = value.format(token=token, beginning=token[:-1], upper=token.upper())
    answer = client.get("/v1/health", authorized=False, headers={name: said})
    problem = assert_problem(answer, 401, "token_invalid", "Token Invalid")
    assert problem["detail"] == "token invalid"
    assert problem["details"] == {"message": "missing or invalid bearer token"}
    assert token not in answer.body.decode()


def test_a_401_says_which_scheme_is_wanted(client: Client) -> None:
    assert client.get("/v1/health", authorized=False).header("www-authenticate") == "Bearer"


def test_the_query_is_no_place_for_a_token(client: Client) -> None:
    for name in ("token", "access_token"):
        answer = client.get(f"/v1/health?{name}={client.token}", authorized=False)
        assert_problem(answer, 401, "token_invalid")


@pytest.mark.clause("spec1-7-bearer", "decision-22")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/health"),
        ("GET", "/v1/acp"),
        ("GET", "/v1/acp/x"),
        ("POST", f"/v1/acp/x?agent={AGENT}"),
        ("DELETE", "/v1/acp/x"),
        ("GET", "/v1/agents"),
        ("GET", "/v1/fs/file?path=x"),
        ("GET", "/v1/nothing/of/the/kind"),
        ("GET", "/v1"),
        ("GET", "/v1/"),
        ("PATCH", "/v1/acp/x"),
        ("HEAD", "/v1/health"),
        ("GET", "/v1/acp/%ff"),
        ("GET", "/%76%31/health"),
    ],
)
def test_everything_under_v1_is_protected(client: Client, method: str, path: str) -> None:
    answer = client.request(method, path, authorized=False)
    assert answer.status == 401 or (path.startswith("/%") and answer.status == 404)


@pytest.mark.clause("decision-22")
@pytest.mark.parametrize("path", ["/", "/openapi.json"])
def test_these_are_open(client: Client, path: str) -> None:
    assert client.get(path, authorized=False).status == 200


@pytest.mark.clause("spec1-7-http-layer-only")
def test_a_401_comes_before_any_work(acp: Acp) -> None:
    server_id = acp.new_id()
    headers = {"content-type": "application/json"}
    body = b'{"id":1,"method":"test/echo"}'
    path = acp.path(server_id, AGENT)
    answer = acp.client.request("POST", path, headers=headers, body=body, authorized=False)
    assert answer.status == 401
    assert acp.entry(server_id) is None


def test_a_server_without_a_token_asks_for_none_and_says_so(start_server) -> None:
    server = start_server(token=None)
    assert server.client.get("/v1/health").status == 200
    assert server.client.get("/v1/health", headers={"authorization": "Bearer whatever"}).status == 200


@pytest.mark.clause("decision-22")
@pytest.mark.ours
def test_the_token_can_come_from_a_file(start_server, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("from-a-file\n")
    secret.chmod(0o600)
    server = started(start_server, ["--token-file", str(secret)])
    server.client.token = "from-a-file"
    server.ready()
    assert server.client.get("/v1/health", authorized=False).status == 401


@pytest.mark.clause("decision-22")
@pytest.mark.ours
@pytest.mark.parametrize("end", ["", "\n"], ids=["as it is", "with a line end"])
def test_the_token_can_come_from_the_environment(start_server, end: str) -> None:
    server = started(start_server, [], {"SANDBOX_AGENT_TOKEN": "from-the-environment" + end})
    server.client.token = "from-the-environment"
    server.ready()
    assert server.client.get("/v1/health", authorized=False).status == 401


@pytest.mark.clause("decision-22")
@pytest.mark.ours
def test_no_token_wins_over_the_environment_and_token_over_no_token(start_server) -> None:
    server = started(start_server, ["--no-token"], {"SANDBOX_AGENT_TOKEN": "env"})
    server.client.token = None
    server.ready()
    both = started(start_server, ["--no-token", "--token", "said"], {"SANDBOX_AGENT_TOKEN": "env"})
    both.client.token = "said"
    both.ready()
    assert both.client.get("/v1/health", authorized=False).status == 401
    assert (
        both.client.get("/v1/health", authorized=False, headers={"authorization": "Bearer env"}).status == 401
    )


@pytest.mark.clause("promise-J")
@pytest.mark.ours
def test_agents_do_not_inherit_the_token(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_TOKEN": "secret-of-the-environment"}).acp
    environment = acp.call(acp.start(), "test/info")["env"]
    assert "secret-of-the-environment" not in environment.values()
