"""Thirty sessions in one page: one connection follows them all, and nothing of them is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Request, expect

from tests.browser.faulty_network import FaultyNetwork
from tests.browser.inspector_page import InspectorPage
from tests.browser.many_sessions import ManySessions
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

SESSIONS = 30
UPDATES = 40
MOST_NODES = 2000

COUNT_CHANGES = """() => {
    window.changes = 0;
    new MutationObserver(() => { window.changes += 1; })
        .observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
}"""


class OpenStreams:
    """The event streams that a page has open."""

    def __init__(self, inspector: InspectorPage) -> None:
        self.opened: list[str] = []
        self.open: list[Request] = []
        self._page = inspector.page
        inspector.page.on("request", self._begun)
        inspector.page.on("requestfinished", self._ended)
        inspector.page.on("requestfailed", self._ended)

    def count(self) -> int:
        self._page.evaluate("null")  # Playwright reports requests only while it is called.
        return len(self.open)

    def _begun(self, request: Request) -> None:
        if request.headers.get("accept") == "text/event-stream":
            self.opened.append(request.url)
            self.open.append(request)

    def _ended(self, request: Request) -> None:
        self.open = [one for one in self.open if one is not request]


def stored_positions(inspector: InspectorPage) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for row in inspector.stored_messages():
        if row["sender"] == "agent":
            found[row["log"].split("|")[1]].append(row["position"])
    return found


@pytest.fixture
def many(server: ServerProcess) -> Iterator[ManySessions]:
    yield ManySessions(server, SESSIONS)
    for entry in server.acp.list():
        server.acp.delete(entry["serverId"])


@pytest.mark.clause("inspector-one-stream")
def test_thirty_sessions_are_followed_by_one_stream_and_lose_nothing(
    server: ServerProcess, context: BrowserContext, many: ManySessions
) -> None:
    with FaultyNetwork(server.port) as network:
        page = context.new_page()
        inspector = InspectorPage(page, server)
        page.goto(f"http://127.0.0.1:{network.port}/ui/")
        streams = OpenStreams(inspector)
        many.put_into(inspector)
        wait_until(lambda: all(one["subscribers"] for one in server.acp.list()), 30, "a reader of each")
        wait_until(lambda: streams.count() == 1, 10, "one stream")
        assert "/v1/events?" in streams.open[0].url
        page.evaluate(COUNT_CHANGES)
        turns = many.prompt(f"stream {UPDATES} 50")
        wait_until(lambda: sum(many.last_events().values()) > SESSIONS * UPDATES / 4, 60, "updates")
        network.reset()
        for turn in turns:
            turn.result(60)
        last = many.last_events()
        expected = {server_id: list(range(1, number + 1)) for server_id, number in last.items()}
        wait_until(lambda: stored_positions(inspector) == expected, 30, "everything in the browser")
        # Updates share frames, and those of the background change a line of the side bar at most.
        assert page.evaluate("window.changes") < sum(last.values()) / 2
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
        # One that waits is told, and answered without another stream.
        before = len(streams.opened)
        (asking,) = many.prompt("permission", ["many-7"])
        page.get_by_role("link", name="Needs you").click()
        page.get_by_role("button", name="Allow once").click()
        asking.result(30)
        page.get_by_role("link", name="many-7").click()
        expect(inspector.conversation).to_contain_text("Permission outcome: selected")
        assert len(streams.opened) == before
        assert not any("/v1/acp/" in url for url in streams.opened)
        page.close()


@pytest.mark.clause("inspector-one-stream")
def test_a_server_without_the_shared_stream_gets_one_for_the_session_on_the_screen(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage]
) -> None:
    server = start_server("no-events", token=None, settings={"SANDBOX_AGENT_EVENTS": "off"})
    inspector = open_page(server)
    streams = OpenStreams(inspector)
    inspector.create_session()
    inspector.create_session()
    inspector.say_and_wait("echo works too")
    assert all("/v1/acp/" in url for url in streams.opened)
    wait_until(lambda: streams.count() == 1, 10, "one stream")
