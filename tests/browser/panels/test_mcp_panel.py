"""The MCP panel: servers are added, tested, edited and removed, and their keys are not shown."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.inspector_page import InspectorPage

SECRET = "the-key-of-the-test"
LOCAL_SERVER = """
import json, os, sys
assert os.environ["KEY"] == "the-key-of-the-test", "no key"
for line in sys.stdin:
    message = json.loads(line)
    about = {"serverInfo": {"name": "local-one", "version": "1.2"}, "capabilities": {"tools": {}}}
    results = {"initialize": about, "tools/list": {"tools": [{"name": "look"}, {"name": "find"}]}}
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
        print(json.dumps(answer), flush=True)
"""


class RemoteServer(BaseHTTPRequestHandler):
    """Answers over both transports: `/mcp` in the body of the POST, `/sse` on the stream."""

    protocol_version = "HTTP/1.1"
    arrived = threading.Event()
    answers: ClassVar[list[bytes]] = []

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(b"event: endpoint\ndata: /sse?session=1\n\n")
        self.wfile.flush()
        sent = 0
        while sent < 2 and self.arrived.wait(20):
            self.arrived.clear()
            for answer in self.answers[sent:]:
                self.wfile.write(b"event: message\ndata: " + answer + b"\n\n")
                self.wfile.flush()
                sent += 1
        self.close_connection = True

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers.get("x-key") != SECRET:
            self.reply(401, b"")
            return
        about = {"serverInfo": {"name": "remote-one", "version": "3"}, "capabilities": {"tools": {}}}
        results = {"initialize": about, "tools/list": {"tools": [{"name": "fetch"}]}}
        if "id" not in message:
            self.reply(202, b"")
            return
        answer = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]})
        if self.path.startswith("/sse"):
            self.answers.append(answer.encode())
            self.reply(202, b"")
            self.arrived.set()
        elif message["method"] == "initialize":
            self.reply(200, answer.encode(), "application/json")
        else:
            self.reply(200, b"event: message\ndata: " + answer.encode() + b"\n\n", "text/event-stream")

    def reply(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def remote() -> Iterator[str]:
    RemoteServer.answers.clear()
    RemoteServer.arrived.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), RemoteServer)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def opened(inspector: InspectorPage, name: str) -> tuple[Locator, Path]:
    """The panel in a directory of its own, and the file of its entries."""
    directory = inspector.server.home / name
    directory.mkdir(exist_ok=True)
    panel = inspector.panel("MCP")
    panel.get_by_label("Directory").fill(str(directory))
    return panel, directory / ".sandbox-agent" / "config" / "mcp.json"


def stored(file: Path) -> Any:
    return json.loads(file.read_text())


@pytest.mark.clause("inspector-panels", "inspector-35")
def test_mcp_servers_are_added_edited_and_removed(inspector: InspectorPage) -> None:
    panel, file = opened(inspector, "mcp-panel")
    form = panel.get_by_role("form", name="Add an MCP server")
    form.get_by_label("Name", exact=True).fill("files")
    form.get_by_role("textbox", name="Command").fill('npx -y "server of files"')
    form.get_by_role("button", name="Add variable").click()
    form.get_by_label("Name of variable 1").fill("KEY")
    form.get_by_label("Value of variable 1").fill(SECRET)
    form.get_by_role("button", name="Add server").click()
    expect(panel.get_by_role("button", name="files", exact=True)).to_be_visible()
    entry = {"type": "local", "command": "npx", "args": ["-y", "server of files"], "env": {"KEY": SECRET}}
    assert stored(file) == {"files": entry}

    form.get_by_label("Name", exact=True).fill("wrong")
    form.get_by_role("textbox", name="Command").fill("server")
    form.get_by_role("button", name="Add variable").click()
    form.get_by_label("Name of variable 1").fill("BAD LINE")
    form.get_by_role("button", name="Add server").click()
    expect(form.get_by_role("alert")).to_contain_text("BAD LINE")
    assert stored(file) == {"files": entry}

    # The form shows neither directory nor time limit: an edit keeps them.
    file.write_text(json.dumps({"files": {**entry, "cwd": "sub", "timeoutMs": 5000}}))
    panel.get_by_role("button", name="Refresh").click()
    panel.get_by_role("button", name="Edit files").click()
    edit = panel.get_by_role("form", name="Edit files")
    edit.get_by_role("textbox", name="Command").fill("another-server")
    edit.get_by_role("button", name="Save server").click()
    expect(edit).to_have_count(0)
    changed = {**entry, "command": "another-server", "args": [], "cwd": "sub", "timeoutMs": 5000}
    assert stored(file) == {"files": changed}

    panel.get_by_role("button", name="Remove files").click()
    expect(panel.get_by_role("button", name="files", exact=True)).to_be_visible()
    panel.get_by_role("button", name="Remove files?").click()
    expect(panel.get_by_text("Nothing configured")).to_be_visible()
    assert stored(file) == {}


@pytest.mark.clause("inspector-35")
def test_keys_of_mcp_servers_are_shown_only_on_request(inspector: InspectorPage) -> None:
    panel, _ = opened(inspector, "mcp-keys")
    form = panel.get_by_role("form", name="Add an MCP server")
    form.get_by_label("Name", exact=True).fill("keyed")
    form.get_by_role("textbox", name="Command").fill("server")
    form.get_by_role("button", name="Add variable").click()
    inspector.page.evaluate(
        "text => navigator.clipboard.writeText(text)", f"export KEY={SECRET}\nOTHER=value\n"
    )
    form.get_by_label("Name of variable 1").press("ControlOrMeta+V")
    expect(form.get_by_label("Name of variable 2")).to_have_value("OTHER")
    form.get_by_role("button", name="Add server").click()
    panel.get_by_role("button", name="keyed", exact=True).click()
    expect(panel.locator("pre.json")).to_contain_text("KEY")
    expect(panel.locator("pre.json")).not_to_contain_text(SECRET)
    panel.get_by_role("button", name="Edit keyed").click()
    value = panel.get_by_role("form", name="Edit keyed").get_by_label("Value of variable 1")
    expect(value).to_have_attribute("type", "password")
    panel.get_by_label("Show values").check()
    expect(value).to_have_attribute("type", "text")
    expect(value).to_have_value(SECRET)
    requests = inspector.panel("Requests")
    requests.get_by_role("button", name="PUT").first.click()
    expect(requests).to_contain_text("(not kept)")
    expect(requests).not_to_contain_text(SECRET)


@pytest.mark.clause("inspector-35")
@pytest.mark.parametrize("transport", ["local", "http", "sse"])
def test_the_connection_of_a_server_is_tested(transport: str, inspector: InspectorPage, remote: str) -> None:
    panel, file = opened(inspector, f"mcp-test-{transport}")
    file.parent.mkdir(parents=True, exist_ok=True)
    (file.parents[2] / "server.py").write_text(LOCAL_SERVER)
    local = {"type": "local", "command": sys.executable, "args": ["server.py"], "env": {"KEY": SECRET}}
    address = f"{remote}/{'mcp' if transport == 'http' else 'sse'}"
    over_http = {"type": "remote", "url": address, "transport": transport, "headers": {"X-Key": SECRET}}
    without_key = {"type": "remote", "url": f"{remote}/mcp"}
    good = local if transport == "local" else over_http
    bad = {**local, "env": {"KEY": "wrong"}} if transport == "local" else without_key
    file.write_text(json.dumps({"good": good, "bad": bad}))
    panel.get_by_role("button", name="Refresh").click()
    test = panel.get_by_role("button", name="Test the connection")
    panel.get_by_role("button", name="good", exact=True).click()
    test.click()
    expected = "local-one 1.2, 2 tools: look, find" if transport == "local" else "remote-one 3, 1 tool: fetch"
    expect(panel.get_by_role("status")).to_have_text(f"Connected to {expected}")
    panel.get_by_role("button", name="bad", exact=True).click()
    test.click()
    reason = "no key" if transport == "local" else "401"
    expect(panel.get_by_role("alert")).to_contain_text(reason)
