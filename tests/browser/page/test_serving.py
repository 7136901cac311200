"""How the page is served: without a token, with caching and a strict security policy."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.support.clients.raw_http import Answer
from tests.support.server_process import ServerProcess


@pytest.fixture(scope="module")
def page(server: ServerProcess) -> Answer:
    return server.client.get("/ui/")


@pytest.mark.clause("inspector-served")
@pytest.mark.parametrize("path", ["/ui", "/ui/", "/ui/sessions/x", "/ui/servers/a%2Fb", "/ui/some.thing"])
def test_every_path_outside_the_assets_is_the_page(server: ServerProcess, page: Answer, path: str) -> None:
    answer = server.client.get(path)
    assert (answer.status, answer.body) == (200, page.body)
    assert answer.header("content-type") == "text/html; charset=utf-8"
    assert answer.header("cache-control") == "no-cache"


@pytest.mark.clause("inspector-served")
def test_the_page_needs_no_token(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(token="something")
    server.client.token = None
    assert server.client.get("/ui/").status == 200
    assert server.client.get("/v1/health").status == 401


@pytest.mark.clause("inspector-served")
def test_assets_are_kept_for_ever_and_have_their_own_types(server: ServerProcess, page: Answer) -> None:
    names = re.findall(rb'/ui/(assets/[^"]+)', page.body)
    assert len(names) >= 2
    types = set()
    for name in names:
        answer = server.client.get(f"/ui/{name.decode()}")
        assert answer.status == 200
        assert answer.header("cache-control") == "public, max-age=31536000, immutable"
        types.add(answer.header("content-type"))
    assert types == {"text/javascript; charset=utf-8", "text/css; charset=utf-8"}


@pytest.mark.clause("inspector-compressed", "inspector-43")
@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("br;q=0.000", None),
        ("deflate", None),
        (None, None),
    ],
)
def test_assets_are_sent_in_the_smallest_form_that_the_client_takes(
    server: ServerProcess, page: Answer, accepted: str | None, coding: str | None
) -> None:
    script = next(iter(re.findall(rb'/ui/(assets/[^"]+[.]js)', page.body))).decode()
    plain = server.client.get(f"/ui/{script}")
    answer = server.client.get(f"/ui/{script}", headers={"accept-encoding": accepted} if accepted else {})
    assert answer.header("content-encoding") == coding
    for one in (answer, plain):
        assert "accept-encoding" in (one.header("vary") or "")
    assert answer.header("content-type") == "text/javascript; charset=utf-8"
    assert (answer.header("etag") == plain.header("etag")) == (coding is None)
    if coding is not None:
        assert len(answer.body) < len(plain.body) / 2
    if coding == "gzip":
        assert gzip.decompress(answer.body) == plain.body
    unchanged = server.client.get(
        f"/ui/{script}",
        headers={"accept-encoding": accepted or "identity", "if-none-match": answer.header("etag") or ""},
    )
    assert unchanged.status == 304


@pytest.mark.clause("inspector-compressed")
def test_what_the_first_view_needs_is_below_160_kb_in_gzip(server: ServerProcess, page: Answer) -> None:
    names = re.findall(rb'/ui/(assets/[^"]+)', page.body)
    sizes = [
        len(server.client.get(f"/ui/{name.decode()}", headers={"accept-encoding": "gzip"}).body)
        for name in names
    ]
    assert sum(sizes) < 160_000


@pytest.mark.clause("inspector-served")
@pytest.mark.parametrize("name", ["none.js", "../index.html", "%2e%2e/index.html", "a/b.js", ""])
def test_a_missing_asset_is_not_found(server: ServerProcess, name: str) -> None:
    answer = server.client.get(f"/ui/assets/{name}")
    assert answer.status == 404
    assert answer.json()["type"] == "urn:sandbox-agent:error:not_found"


@pytest.mark.clause("inspector-served")
def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(page: Answer) -> None:
    policy = page.header("content-security-policy") or ""
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == directives["style-src"] == directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    assert b"<script>" not in page.body and b"<style" not in page.body
    assert page.header("x-content-type-options") == "nosniff"
    assert page.header("referrer-policy") == "no-referrer"


def test_only_the_endpoint_named_in_the_address_may_be_called_too(server: ServerProcess) -> None:
    def policy(query: str) -> str:
        return server.client.get(f"/ui/?{query}").header("content-security-policy") or ""

    assert "connect-src 'self' https://box.example:8443 wss://box.example:8443;" in policy(
        "url=https://box.example:8443/some/path"
    )
    assert "connect-src 'self';" in policy("url=javascript:alert(1)")
    assert "connect-src 'self' https://a.example wss://a.example;" in policy(
        "url=https://a.example;script-src%20*"
    )
    assert "script-src 'self';" in policy("url=https://a.example;script-src%20*")


def test_an_unchanged_page_is_not_sent_again(server: ServerProcess, page: Answer) -> None:
    etag = page.header("etag")
    assert etag
    again = server.client.get("/ui/", headers={"if-none-match": etag})
    assert (again.status, again.body) == (304, b"")


def test_head_has_the_length_and_no_body(server: ServerProcess, page: Answer) -> None:
    head = server.client.request("HEAD", "/ui/")
    assert (head.status, head.body) == (200, b"")
    assert head.header("content-length") == str(len(page.body))


def test_other_methods_are_refused(server: ServerProcess) -> None:
    answer = server.client.request("POST", "/ui/", body=b"{}")
    assert (answer.status, answer.header("allow")) == (405, "GET,HEAD")


@pytest.mark.clause("inspector-served")
def test_the_first_view_is_painted_without_scripts(context: BrowserContext, server: ServerProcess) -> None:
    page = context.new_page()
    page.route("**/*.js", lambda route: route.abort())
    page.goto(f"http://127.0.0.1:{server.port}/ui/")
    loading = page.get_by_role("status")
    expect(loading).to_have_text("Loading the inspector…")
    # It is in the middle of the page, so the styles are those of the page.
    box = loading.bounding_box()
    assert box and box["y"] > 300
