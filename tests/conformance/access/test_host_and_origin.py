"""Host and Origin: what keeps other people's pages out."""

from __future__ import annotations

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.raw_http import Client
from tests.support.problems import assert_problem

GOOD_HOSTS = [
    "localhost",
    "localhost:1",
    "127.0.0.1",
    "127.0.0.1:99",
    "[::1]",
    "[::1]:80",
    "LOCALHOST",
    "LocalHost:5",
]
BAD_HOSTS = [
    "evil.example",
    "evil.example:2468",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1",
]
BAD_HOSTS += ["", "localhost@evil.example", "evil.example#localhost", "localhost:x@y", "0.0.0.0", "[::2]"]
ROUTES = [
    ("GET", "/"),
    ("GET", "/ui"),
    ("GET", "/v1/health"),
    ("GET", "/v1/acp"),
    ("GET", "/v1/acp/x"),
    ("POST", f"/v1/acp/x?agent={AGENT}"),
    ("DELETE", "/v1/acp/x"),
    ("PUT", "/v1/acp/x"),
    ("GET", "/nowhere"),
    ("OPTIONS", "/v1/acp/x"),
]


@pytest.mark.parametrize("host", GOOD_HOSTS)
def test_a_loopback_name_with_any_port_is_fine(client: Client, host: str) -> None:
    assert client.get("/v1/health", headers={"host": host}).status == 200


@pytest.mark.clause("decision-23")
@pytest.mark.parametrize("host", BAD_HOSTS)
def test_any_other_host_is_421(client: Client, host: str) -> None:
    answer = client.get("/v1/health", headers={"host": host})
    problem = assert_problem(answer, 421, "misdirected_request", "Misdirected Request")
    assert problem["detail"] == f"misdirected request: {host}"


@pytest.mark.clause("decision-23", "promise-K")
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_rebinding_name_is_421_on_every_route_before_anything_else(
    client: Client, method: str, path: str
) -> None:
    headers = {"host": "evil.example", "origin": "http://evil.example"}
    assert client.request(method, path, headers=headers, authorized=False).status == 421


@pytest.mark.clause("decision-23", "promise-K")
@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://localhost.evil.example"])
def test_a_foreign_origin_is_403_on_every_route_before_the_token(
    client: Client, method: str, path: str, origin: str
) -> None:
    answer = client.request(method, path, headers={"origin": origin}, authorized=False)
    problem = assert_problem(answer, 403, "forbidden_origin", "Forbidden Origin")
    assert problem["detail"] == f"forbidden origin: {origin}"
    assert answer.header("access-control-allow-origin") is None


SITES = ["cross-site", "same-site"]
V1_ROUTES = [(method, path) for method, path in ROUTES if path.startswith("/v1")]


@pytest.mark.ours
@pytest.mark.clause("decision-53", "promise-K", "security-H6")
@pytest.mark.parametrize(("method", "path"), [*V1_ROUTES, ("GET", "/v1/fs/file?path=/etc/passwd")])
@pytest.mark.parametrize("site", SITES)
def test_a_page_of_another_site_is_403_under_v1_even_without_an_origin(
    client: Client, method: str, path: str, site: str
) -> None:
    for authorized in (True, False):
        answer = client.request(method, path, headers={"sec-fetch-site": site}, authorized=authorized)
        assert_problem(answer, 403, "forbidden_origin", "Forbidden Origin")


@pytest.mark.ours
@pytest.mark.clause("decision-53", "security-H6")
@pytest.mark.parametrize("site", SITES)
def test_a_page_with_the_servers_name_but_another_scheme_is_another_site(client: Client, site: str) -> None:
    headers = {"origin": f"https://{client.authority}", "sec-fetch-site": site}
    assert_problem(client.get("/v1/health", headers=headers), 403, "forbidden_origin")


@pytest.mark.ours
@pytest.mark.clause("decision-53")
@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_inspector_and_the_address_bar_are_not_another_site(client: Client, site: str) -> None:
    assert client.get("/v1/health", headers={"sec-fetch-site": site}).status == 200


@pytest.mark.ours
@pytest.mark.clause("decision-53")
@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("path", ["/", "/ui/", "/docs", "/openapi.json"])
def test_a_link_on_another_site_leads_to_the_pages(client: Client, path: str, site: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate"}
    assert client.get(path, headers=headers).status == 200


@pytest.mark.ours
@pytest.mark.clause("decision-53", "http-cors")
@pytest.mark.parametrize("site", SITES)
def test_a_listed_origin_may_be_another_site(start_server, site: str) -> None:
    client = start_server(arguments=["--cors-allow-origin", "https://app.example"]).client
    headers = {"origin": "https://app.example", "sec-fetch-site": site}
    assert client.get("/v1/health", headers=headers).status == 200
    preflight = {**headers, "access-control-request-method": "POST"}
    assert client.request("OPTIONS", "/v1/acp/x", headers=preflight, authorized=False).status == 200
    without_origin = {"sec-fetch-site": site}
    assert_problem(client.get("/v1/health", headers=without_origin), 403, "forbidden_origin")


def test_a_foreign_origin_runs_nothing(acp: Acp) -> None:
    server_id = acp.new_id()
    answer = acp.send(server_id, "test/echo", agent=AGENT, headers={"origin": "http://evil.example"})
    assert answer.status == 403
    assert acp.entry(server_id) is None


@pytest.mark.clause("promise-K")
def test_the_same_host_and_port_is_the_inspectors_origin(client: Client) -> None:
    for host in (client.authority, f"localhost:{client.port}"):
        headers = {"host": host, "origin": f"http://{host}"}
        assert client.get("/v1/health", headers=headers).status == 200


def test_the_same_host_on_another_port_is_another_origin(client: Client) -> None:
    answer = client.get("/v1/health", headers={"origin": f"http://127.0.0.1:{client.port + 1}"})
    assert answer.status == 403


@pytest.mark.clause("cli-settings")
def test_a_listed_host_is_fine(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_ALLOWED_HOSTS": "my.box, other.box"})
    for host in ("my.box", "my.box:443", "OTHER.box", "localhost"):
        assert server.client.get("/v1/health", headers={"host": host}).status == 200
    assert server.client.get("/v1/health", headers={"host": "third.box"}).status == 421


@pytest.mark.clause("cli-settings")
@pytest.mark.ours
def test_hosts_can_be_listed_by_flag(start_server) -> None:
    server = start_server(arguments=["--allow-host", "my.box", "--allow-host", "other.box"])
    assert server.client.get("/v1/health", headers={"host": "other.box:1"}).status == 200
    assert server.client.get("/v1/health", headers={"host": "third.box"}).status == 421


@pytest.mark.clause("decision-23")
def test_on_other_addresses_the_host_is_not_looked_at(start_server) -> None:
    server = start_server(host="0.0.0.0", token=None)
    assert server.client.get("/v1/health", headers={"host": "my-sandbox.platform.example"}).status == 200


@pytest.mark.own_server("the command line, its exit codes and its messages belong to the server command")
@pytest.mark.clause("decision-23")
def test_listening_on_other_addresses_without_a_token_is_warned_about(start_server) -> None:
    server = start_server(host="0.0.0.0", token=None)
    assert "warn" in server.log().lower()


@pytest.mark.clause("decision-23")
def test_on_other_addresses_listed_hosts_bind(start_server) -> None:
    server = start_server(
        host="0.0.0.0",
        settings={"SANDBOX_AGENT_ALLOWED_HOSTS": "my.box,Ported.box:8080"},
    )
    for host in ("my.box", "my.box:99", "ported.box", "localhost:1", "127.0.0.1", "[::1]"):
        assert server.client.get("/v1/health", headers={"host": host}).status == 200
    assert server.client.get("/v1/health", headers={"host": "third.box"}).status == 421
