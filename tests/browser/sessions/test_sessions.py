"""Sessions of the browser: created, listed, reloaded, resumed, archived."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.support.processes import wait_until

Open = Callable[..., InspectorPage]


@pytest.mark.clause("inspector-sessions")
def test_a_session_gets_its_directory_model_and_mode(inspector: InspectorPage) -> None:
    page, home = inspector.page, inspector.server.home
    (home / "project").mkdir(exist_ok=True)
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name="Mock").check()
    dialog.get_by_label("Directory").fill(str(home / "project"))
    dialog.get_by_label("Model").select_option("mock-fast")
    dialog.get_by_label("Mode", exact=True).select_option("plan")
    dialog.get_by_role("button", name="Create session").click()
    expect(page.get_by_label("Model")).to_have_value("mock-fast")
    expect(page.get_by_label("Mode", exact=True)).to_have_value("plan")
    inspector.say_and_wait("info")
    expect(inspector.conversation).to_contain_text(str(home / "project"))
    assert inspector.server.acp.list()[-1]["agent"] == "mock"


@pytest.mark.clause("inspector-sessions")
def test_the_mcp_servers_of_the_directory_are_given_to_the_session(inspector: InspectorPage) -> None:
    server = inspector.server
    directory = server.home / "with-mcp"
    directory.mkdir(exist_ok=True)
    answer = server.client.request(
        "PUT",
        f"/v1/config/mcp?directory={directory}&mcpName=files",
        headers={"content-type": "application/json"},
        body=b'{"type":"local","command":"server-of-files","args":["-x"]}',
    )
    assert answer.status == 204
    page = inspector.page
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name="Mock").check()
    dialog.get_by_label("Directory").fill(str(directory))
    expect(dialog.get_by_role("checkbox")).to_be_checked()
    dialog.get_by_role("button", name="Create session").click()
    expect(inspector.composer).to_be_visible()
    sent = wait_until(lambda: requests_of(inspector, "session/new"), 10, "the stored request")
    assert sent[0]["params"]["mcpServers"] == [
        {"name": "files", "command": "server-of-files", "args": ["-x"], "env": []}
    ]


def requests_of(inspector: InspectorPage, method: str) -> list[dict]:
    payloads = [row["payload"] for row in inspector.stored_messages()]
    return [payload for payload in payloads if payload and payload.get("method") == method]


@pytest.mark.clause("inspector-sessions")
def test_a_reload_loses_nothing_and_asks_only_for_what_is_new(inspector: InspectorPage) -> None:
    session_id = inspector.create_session()
    inspector.say_and_wait("markdown")
    before = inspector.conversation.inner_text()
    last = inspector.server.acp.list()[-1]["lastEventId"]
    wait_until(
        lambda: max((row["position"] for row in inspector.stored_messages()), default=0) >= last,
        10,
        "all events stored",
    )
    asked: list[str] = []
    inspector.page.on(
        "request",
        lambda request: (
            asked.append(request.url) if request.headers.get("accept") == "text/event-stream" else None
        ),
    )
    inspector.page.reload()
    inspector.wait_for_turns(1)
    assert inspector.page.url.endswith(session_id)
    wait_until(lambda: asked, 10, "the stream opened again")
    (position,) = parse_qs(urlsplit(asked[0]).query)["servers"]
    assert position.split(":")[:2] == [inspector.server_id, str(last)]
    assert inspector.conversation.inner_text() == before
    inspector.say("echo still here")
    inspector.wait_for_turns(2)
    expect(inspector.conversation).to_contain_text("still here")


@pytest.mark.clause("inspector-sessions")
def test_a_reload_in_mid_turn_goes_on_where_it_was(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("stream 60 50")
    expect(inspector.conversation).to_contain_text("chunk 5")
    inspector.page.reload()
    expect(inspector.page.get_by_role("button", name="Stop")).to_be_visible()
    inspector.wait_for_turns(1)
    found = re.findall(r"chunk (\d+)", inspector.conversation.inner_text())
    assert found == [str(n) for n in range(1, 61)]
    assert inspector.server.acp.list()[-1]["status"] == "running"


@pytest.mark.clause("inspector-sessions")
def test_an_ended_session_is_resumed_with_its_history(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("echo before the end")
    inspector.end_session()
    resume = inspector.page.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    assert inspector.server.acp.list() == []
    resume.click()
    expect(inspector.composer).to_be_visible()
    expect(inspector.conversation).to_contain_text("before the end")
    inspector.say("echo after the end")
    inspector.wait_for_turns(2)
    expect(inspector.conversation).to_contain_text("after the end")
    assert inspector.conversation.get_by_text("before the end", exact=True).count() == 1
    inspector.page.reload()
    inspector.wait_for_turns(2)
    expect(inspector.conversation).to_contain_text("before the end")


@pytest.mark.clause("inspector-sessions")
def test_sessions_are_archived_and_found_again(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say_and_wait("echo archived words")
    row = page.get_by_role("complementary", name="Sessions").get_by_role("link", name="archived words")
    expect(row).to_be_visible()
    page.get_by_role("button", name="Archive", exact=True).click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Show archived").click()
    expect(row).to_be_visible()
    page.get_by_role("button", name="Unarchive").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Back to sessions").click()
    expect(row).to_be_visible()


@pytest.mark.clause("inspector-looks")
def test_a_failing_start_says_why_and_leaves_nothing_behind(inspector: InspectorPage) -> None:
    page = inspector.page
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name=re.compile("^Claude Code (not )?installed")).check()
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Install the agent in the Agents panel")
    assert inspector.server.acp.list() == []


@pytest.mark.clause("inspector-sessions")
def test_a_fork_has_the_conversation_and_goes_its_own_way(inspector: InspectorPage) -> None:
    page = inspector.page
    original = inspector.create_session()
    inspector.say_and_wait("echo said before the fork")
    page.get_by_role("button", name="Fork", exact=True).click()
    page.wait_for_url(lambda address: not address.endswith(original))
    expect(inspector.conversation).to_contain_text("said before the fork")
    inspector.say("echo only in the fork")
    inspector.wait_for_turns(2)
    page.reload()
    expect(inspector.conversation).to_contain_text("only in the fork")
    forks = requests_of(inspector, "session/fork")
    assert len(forks) == 1
    assert len(inspector.server.acp.list()) == 2
    page.locator(f"a[href='/ui/sessions/{original}']").click()
    inspector.wait_for_turns(1)
    expect(inspector.conversation).not_to_contain_text("only in the fork")
