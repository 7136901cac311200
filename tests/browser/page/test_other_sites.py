"""What a page of another site can do to the server and to the user of the inspector, in a real browser."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

# To the server at 127.0.0.1, a page at `localhost` is another site, and one at another port the same site.
SITES = pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
ENVIRONMENT = '{"NODE_OPTIONS":"--import data:,","ANTHROPIC_BASE_URL":"https://evil.example"}'
ONE_PIXEL_GIF = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"


class OtherSite:
    """A web server with pages of another origin."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        pages = self.pages

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = pages.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("content-type", "text/html; charset=utf-8")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def open(self, page: Page, host: str, html: str) -> None:
        self.pages["/"] = f"<!doctype html><title>waiting</title>{html}"
        page.goto(f"http://{host}:{self.port}/")


@pytest.fixture
def other_site() -> Iterator[OtherSite]:
    site = OtherSite()
    yield site
    site.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


def file_address(server: ServerProcess, file: Path) -> str:
    return f"http://127.0.0.1:{server.port}/v1/fs/file?path={quote(str(file))}"


def remember_token(tab: InspectorPage) -> None:
    tab.page.goto(tab.address("/ui/"))
    tab.page.get_by_label("Token", exact=True).fill(str(tab.server.token))
    tab.page.get_by_label("Remember the token in this browser").check()
    tab.page.get_by_role("button", name="Connect").click()
    expect(tab.page.get_by_role("heading", name="Start a session")).to_be_visible()


@SITES
@pytest.mark.clause("security-H6", "security-browser", "decision-53")
def test_a_file_is_not_readable_as_a_script(
    server: ServerProcess, other_site: OtherSite, page: Page, host: str
) -> None:
    file = server.home / "config.js"
    file.write_text("var API_KEY = 'stolen'")
    address = file_address(server, file)
    read = "<script>document.title = typeof API_KEY</script>"
    other_site.open(page, host, f'<script src="{address}"></script>{read}')
    expect(page).to_have_title("undefined")


@SITES
@pytest.mark.clause("security-H6", "security-browser", "decision-53")
def test_a_page_does_not_learn_which_pictures_exist(
    server: ServerProcess, other_site: OtherSite, page: Page, host: str
) -> None:
    file = server.home / "picture.gif"
    file.write_bytes(ONE_PIXEL_GIF)
    other_site.open(
        page,
        host,
        f'<img src="{file_address(server, file)}" '
        "onload=\"document.title = 'loaded'\" onerror=\"document.title = 'refused'\">",
    )
    expect(page).to_have_title("refused")


@SITES
@pytest.mark.clause("security-H6", "security-browser")
def test_a_page_cannot_frame_the_inspector_or_the_api_documentation(
    server: ServerProcess, other_site: OtherSite, page: Page, host: str
) -> None:
    addresses = [f"http://127.0.0.1:{server.port}{path}" for path in ("/docs", "/ui/")]
    count = "document.title = (window.n = (window.n || 0) + 1) + ' settled'"
    frames = "".join(f'<iframe src="{address}" onload="{count}"></iframe>' for address in addresses)
    other_site.open(page, host, frames)
    expect(page).to_have_title("2 settled")
    shown = [frame.url for frame in page.frames if frame.parent_frame is not None]
    assert shown == ["chrome-error://chromewebdata/"] * 2


@SITES
@pytest.mark.clause("http-cors", "security-H6")
def test_a_page_of_an_allowed_origin_reads_files_and_streams(
    start_server: Callable[..., ServerProcess], other_site: OtherSite, page: Page, host: str
) -> None:
    origin = f"http://{host}:{other_site.port}"
    server = start_server(token="of-the-page", arguments=["--cors-allow-origin", origin])
    file = server.home / "notes.txt"
    file.write_text("written by the user")
    server_id = server.acp.start()
    other_site.open(page, host, "")
    script = """async ([file, stream]) => {
        const headers = { authorization: "Bearer of-the-page" };
        const text = await (await fetch(file, { headers })).text();
        const body = (await fetch(stream, { headers })).body.getReader();
        const first = new TextDecoder().decode((await body.read()).value);
        await body.cancel();
        return [text, first];
    }"""
    stream = f"http://127.0.0.1:{server.port}{server.acp.path(server_id)}"
    text, first = page.evaluate(script, [file_address(server, file), stream])
    assert text == "written by the user"
    assert "id: 1\n" in first


@SITES
@pytest.mark.parametrize("place", ["?", "#"])
@pytest.mark.clause("security-H7", "security-browser")
def test_a_link_does_not_set_the_environment_of_agents(
    start_server: Callable[..., ServerProcess], other_site: OtherSite, page: Page, host: str, place: str
) -> None:
    server = start_server(token="remembered")
    tab = InspectorPage(page, server)
    remember_token(tab)

    headers = quote('{"X-Sandbox-Agent-Env":' + json.dumps(ENVIRONMENT) + ',"X-Of-A-Proxy":"1"}')
    victim = page.context.new_page()
    other_site.open(
        victim, host, f'<a href="{tab.address("/ui/")}{place}headers={headers}">A picture of a cat</a>'
    )
    victim.get_by_role("link").click()
    attacked = InspectorPage(victim, server)
    sent: list[dict[str, str]] = []
    victim.on("request", lambda request: sent.append(request.headers))
    attacked.create_session()
    attacked.say_and_wait("hello")
    assert "headers=" not in victim.url
    pid = server.acp.list()[0]["pid"]
    environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"--import data:," not in environment and b"evil.example" not in environment
    assert not any(name.startswith("x-sandbox-agent") for request in sent for name in request)
    assert any(request.get("x-of-a-proxy") == "1" for request in sent)


@SITES
@pytest.mark.clause("decision-53")
def test_a_link_of_another_site_opens_the_inspector(
    server: ServerProcess, other_site: OtherSite, page: Page, host: str
) -> None:
    other_site.open(page, host, f'<a href="http://127.0.0.1:{server.port}/ui/">The inspector</a>')
    page.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Start a session")).to_be_visible()


@pytest.mark.clause("security-H7", "inspector-connect")
def test_a_link_with_a_wrong_token_does_not_replace_the_stored_one(
    start_server: Callable[..., ServerProcess], other_site: OtherSite, page: Page
) -> None:
    tab = InspectorPage(page, start_server(token="remembered"))
    remember_token(tab)
    victim = page.context.new_page()
    link = f'<a href="{tab.address("/ui/")}#token=wrong">A picture of a cat</a>'
    other_site.open(victim, "localhost", link)
    victim.get_by_role("link").click()
    expect(victim.get_by_role("heading", name="Connect to Sandbox Agent")).to_be_visible()
    victim.goto(tab.address("/ui/"))
    expect(victim.get_by_role("heading", name="Start a session")).to_be_visible()
