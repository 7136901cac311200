"""The recipes of docs/deploy.md for nginx, HAProxy and Caddy: the whole API works through each of them."""

from __future__ import annotations

import hashlib
import shutil
import statistics
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.conftest import ACTION_LIMIT_MS, FLAGS
from tests.browser.inspector_page import InspectorPage
from tests.deploy.reverse_proxy import HOST, PROXIES, ReverseProxy
from tests.support.clients.acp import Acp, message
from tests.support.clients.raw_http import Client
from tests.support.problems import assert_problem
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.proxies
TOKEN = "token-behind-a-proxy"
SETTINGS = {
    "SANDBOX_AGENT_ACP_EARLY_HEADER_MS": "300",
    "SANDBOX_AGENT_ACP_EARLY_HEADER_INTERVAL_MS": "300",
    # HAProxy notices only when it writes that a client has left.
    "SANDBOX_AGENT_ACP_HEARTBEAT_MS": "1000",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("proxied-server")
    arguments = ["--allow-host", HOST]
    with ServerProcess(directory, token=TOKEN, settings=SETTINGS, arguments=arguments) as started:
        yield started


@pytest.fixture(scope="module", params=list(PROXIES), ids=list(PROXIES.values()))
def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, server: ServerProcess
) -> Iterator[ReverseProxy]:
    started = ReverseProxy(request.param, tmp_path_factory.mktemp("proxy"), server.port, TOKEN)
    yield started
    started.stop()


@pytest.fixture
def acp(proxy: ReverseProxy) -> Iterator[Acp]:
    """The ACP routes through the proxy; instances of the test are closed through it."""
    acp = Acp(proxy.client)
    yield acp
    for row in acp.list():
        assert acp.delete(row["serverId"]).status == 204
    acp.close()


@pytest.mark.clause("packaging-proxies")
def test_messages_are_posted_and_answered(acp: Acp) -> None:
    server_id = acp.start()
    assert acp.call(server_id, "test/echo", {"text": "ä" * 1000})["echo"] == {"text": "ä" * 1000}
    acp.notify(server_id, "test/none")
    assert_problem(acp.send("unknown", "test/echo"), 400, "invalid_request")


@pytest.mark.clause("packaging-proxies")
def test_the_token_is_still_needed(proxy: ReverseProxy) -> None:
    assert proxy.client.get("/v1/health", authorized=False).status == 401


@pytest.mark.clause("packaging-proxies")
@pytest.mark.serial
def test_events_arrive_at_once(acp: Acp) -> None:
    assert_events_arrive_at_once(acp, acp.start())


@pytest.mark.serial
def test_events_arrive_at_once_without_tls(acp: Acp, proxy: ReverseProxy) -> None:
    """HAProxy gathers output on such connections unless it is told not to."""
    if proxy.plain_port is not None:
        plain = Acp(Client("127.0.0.1", proxy.plain_port, TOKEN))
        assert_events_arrive_at_once(plain, acp.start())
        plain.close()


def assert_events_arrive_at_once(acp: Acp, server_id: str) -> None:
    first, later = [], []
    for _ in range(5):
        began = time.monotonic()
        with acp.stream(server_id) as stream:
            stream.next_message()
            first.append(time.monotonic() - began)
            seen = (acp.entry(server_id) or {})["lastEventId"]
            stream.take(seen - 1)
            began = time.monotonic()
            acp.call(server_id, "test/echo")
            stream.next_message()
            later.append(time.monotonic() - began)
    # A proxy that gathers output waits for 0.2 s at least.
    assert statistics.median(first) < 0.15, first
    assert statistics.median(later) < 0.15, later


@pytest.mark.clause("packaging-proxies")
def test_a_reader_that_comes_back_gets_what_it_missed(acp: Acp) -> None:
    server_id = acp.start()
    for number in range(9):
        acp.call(server_id, "test/echo", {"number": number})
    with acp.stream(server_id) as stream:
        assert [event.number for event in stream.take(4)] == [1, 2, 3, 4]
    with acp.stream(server_id, last_event_id=4) as stream:
        assert [event.number for event in stream.take(6)] == [5, 6, 7, 8, 9, 10]


@pytest.mark.clause("packaging-proxies")
def test_the_server_notices_that_a_reader_has_left(acp: Acp) -> None:
    server_id = acp.start()
    with acp.stream(server_id):
        assert (acp.entry(server_id) or {})["subscribers"] == 1
    wait_until(lambda: (acp.entry(server_id) or {})["subscribers"] == 0, 10, "a stream without readers")


@pytest.mark.clause("packaging-proxies")
def test_delete_ends_the_instance_and_its_streams(acp: Acp) -> None:
    server_id = acp.start()
    with acp.stream(server_id) as stream:
        stream.next_message()
        assert acp.delete(server_id).status == 204
        stream.read_to_the_clean_end()
    assert acp.entry(server_id) is None


@pytest.mark.clause("packaging-proxies")
def test_headers_that_are_sent_early_reach_the_client_early(acp: Acp) -> None:
    server_id = acp.start()
    body = message("test/silent", {}, "waiting")
    with acp.open_post(server_id, body) as connection:
        status, headers, _ = connection.read_head()
        assert (status, dict(headers)["content-type"]) == (200, "application/json")
        assert (acp.entry(server_id) or {})["pendingRequests"] == 1
        assert connection.read_chunk().strip() == b""


@pytest.mark.clause("packaging-proxies")
def test_large_files_are_uploaded_and_downloaded(proxy: ReverseProxy, server: ServerProcess) -> None:
    body = hashlib.shake_256(b"large").digest(64 << 20)
    path = f"/v1/fs/file?path={server.home}/large-{proxy.name}"
    headers = {"content-type": "application/octet-stream"}
    assert proxy.client.request("PUT", path, headers=headers, body=body, timeout=60).status == 200
    answer = proxy.client.get(path, timeout=60)
    assert answer.status == 200
    assert hashlib.sha256(answer.body).digest() == hashlib.sha256(body).digest()
    some = proxy.client.get(path, headers={"range": "bytes=1000000-1000009"})
    assert (some.status, some.body) == (206, body[1_000_000:1_000_010])
    removed = f"/v1/fs/entry?path={server.home}/large-{proxy.name}"
    assert proxy.client.request("DELETE", removed).status == 200


@pytest.mark.clause("packaging-proxies")
def test_a_message_of_sixty_megabytes_passes(acp: Acp) -> None:
    server_id = acp.start()
    body = b'{"method":"test/none","params":"' + b"x" * 60_000_000 + b'"}'
    assert acp.post(server_id, body, timeout=60).status == 202


@pytest.mark.clause("packaging-proxies")
def test_the_server_sees_the_host_of_the_browser(proxy: ReverseProxy) -> None:
    """Without it, the Origin of the inspector would not be the server's own, or every Host would pass."""
    own = {"origin": f"https://{proxy.client.authority}", "sec-fetch-site": "same-origin"}
    assert proxy.client.get("/v1/health", headers=own).status == 200
    other = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    assert_problem(proxy.client.get("/v1/health", headers=other), 403, "forbidden_origin")
    assert proxy.client.get("/").json()["docs"] == f"http://{proxy.client.authority}/docs"


@pytest.mark.clause("packaging-proxies")
@pytest.mark.chromium
@pytest.mark.timeout(150)
def test_the_inspector_works_in_a_browser(proxy: ReverseProxy, server: ServerProcess) -> None:
    flags = [*FLAGS, f"--host-resolver-rules=MAP {HOST} 127.0.0.1"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(ACTION_LIMIT_MS)
        page.goto(f"https://{proxy.client.authority}/ui/#token={TOKEN}")
        expect(page.get_by_role("heading", name="Start a session")).to_be_visible()
        tab = InspectorPage(page, server)
        tab.create_session()
        tab.say_and_wait("echo through a proxy")
        expect(tab.conversation).to_contain_text("through a proxy")
        browser.close()
    for row in server.acp.list():
        server.acp.delete(row["serverId"])
