"""Live servers: running instances are listed, watched, used and closed; the end of a process is explained."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.other_client import prompt_elsewhere, start_elsewhere
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

Open = Callable[..., InspectorPage]


@pytest.mark.clause("inspector-live-servers")
def test_a_server_of_another_client_is_listed_watched_and_closed(inspector: InspectorPage) -> None:
    server = inspector.server
    session_id = start_elsewhere(server, "of another / client")
    prompt_elsewhere(server, "of another / client", session_id, "echo said elsewhere")
    row = inspector.page.get_by_role("link", name="of another / client")
    expect(row.locator("strong")).to_have_text(re.compile(r"^Mock, started \d\d:\d\d$"))
    row.click()
    expect(inspector.page).to_have_url(inspector.address("/ui/servers/of%20another%20%2F%20client"))
    expect(inspector.conversation).to_contain_text("said elsewhere")
    expect(inspector.composer).to_have_count(0)
    prompt_elsewhere(server, "of another / client", session_id, "echo and live")
    expect(inspector.conversation).to_contain_text("and live")
    inspector.page.get_by_role("button", name="Close server").click()
    inspector.page.get_by_role("button", name="Close it for every client?").click()
    expect(inspector.page.get_by_text("This server was closed")).to_be_visible()
    assert server.acp.list() == []


@pytest.mark.clause("inspector-live-servers")
def test_one_can_take_part_in_a_server_of_another_client(inspector: InspectorPage) -> None:
    start_elsewhere(inspector.server, "shared")
    inspector.page.goto(inspector.address("/ui/servers/shared"))
    inspector.page.get_by_label("Take part").check()
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    expect(inspector.card("answered")).to_be_visible()
    inspector.wait_for_turns(1)
    inspector.page.reload()
    expect(inspector.conversation.locator(".message.user")).to_contain_text("permission")
    expect(inspector.card("answered")).to_be_visible()


@pytest.mark.clause("inspector-live-servers", "inspector-31")
def test_a_process_that_dies_shows_its_exit_code_and_stderr(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("stderr 300")
    inspector.say("crash 3")
    notice = inspector.page.locator(".exit-notice")
    expect(notice).to_contain_text("exit code 3")
    # The conversation has one line about it, without the output that the notice shows.
    expect(inspector.conversation.get_by_text("process ended")).to_have_count(1)
    expect(inspector.page.get_by_text("exit code 3")).to_have_count(1)
    expect(notice.get_by_label("Last output on stderr")).not_to_be_empty()
    entry = inspector.server.acp.entry(inspector.server_id)
    assert entry is not None and entry["status"] == "exited" and entry["exitCode"] == 3
    inspector.page.get_by_role("button", name="Resume").click()
    expect(inspector.composer).to_be_visible()
    inspector.say("echo alive again")
    expect(inspector.conversation).to_contain_text("alive again")
    entry = inspector.server.acp.entry(inspector.server_id)
    assert entry is not None and entry["status"] == "running"


@pytest.mark.clause("inspector-server-restarted")
def test_a_server_killed_and_started_again_keeps_the_history(
    start_server: Callable[..., ServerProcess], open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = start_server("first", token=None)
    tab = open_page(first)
    tab.create_session()
    tab.say_and_wait("echo before the crash")
    first.signal(signal.SIGKILL)
    first.wait_for_exit(10)
    expect(tab.page.locator(".chat-head .stream-status")).to_contain_text("reconnecting")
    monkeypatch.setattr("tests.support.server_process.free_port", lambda: first.port)
    second = start_server("second", token=None)
    tab.server = second
    resume = tab.page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    expect(tab.conversation).to_contain_text("before the crash")
    resume.click()
    expect(tab.composer).to_be_visible()
    tab.say("echo after the crash")
    expect(tab.conversation).to_contain_text("after the crash")
    wait_until(lambda: len(second.acp.list()) == 1, 10, "one instance on the new server")
