"""The Events panel: both views, filter, search, copy, export and import, the state of the stream, gaps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess


@pytest.mark.clause("inspector-events")
def test_messages_of_both_directions_are_listed_filtered_and_searched(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("echo needle-in-the-stream")
    panel = inspector.panel("Events")
    messages = panel.get_by_role("region", name="Messages")
    expect(messages.get_by_role("button", name="session/prompt")).to_be_visible()
    expect(messages.get_by_role("button", name="agent_message_chunk")).to_be_visible()
    panel.get_by_label("Filter events").select_option("client")
    expect(messages.get_by_role("button", name="agent_message_chunk")).to_have_count(0)
    panel.get_by_label("Filter events").select_option("all")
    panel.get_by_label("Search events").fill("needle-in-the-stream")
    expect(messages.get_by_role("button", name="initialize")).to_have_count(0)
    messages.get_by_role("button", name="agent_message_chunk").click()
    messages.get_by_role("button", name="Copy JSON").click()
    copied = json.loads(inspector.page.evaluate("navigator.clipboard.readText()"))
    assert copied["params"]["update"]["content"]["text"] == "needle-in-the-stream"
    expect(panel.locator(".stream-status")).to_contain_text("connected")
    last = inspector.server.acp.list()[-1]["lastEventId"]
    expect(panel.locator(".stream-status")).to_contain_text(f"last event {last}")


@pytest.mark.clause("inspector-events")
def test_the_universal_view_shows_the_derived_events(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("echo hello")
    panel = inspector.panel("Events")
    panel.get_by_role("button", name="Universal").click()
    events = panel.get_by_role("region", name="Universal events")
    for name in ("session.started", "turn.started", "item.delta", "turn.ended"):
        expect(events.get_by_role("button", name=name).first).to_be_visible()


@pytest.mark.clause("inspector-events", "inspector-36")
def test_a_conversation_is_exported_and_imported_again(inspector: InspectorPage, tmp_path: Path) -> None:
    inspector.create_session("Played")
    said = {"type": "text", "text": "exported words"}
    inspector.play("export", {"update": {"sessionUpdate": "agent_message_chunk", "content": said}})
    inspector.wait_for_turns(1)
    panel = inspector.panel("Events")
    with inspector.page.expect_download() as download:
        panel.get_by_role("button", name="Export", exact=True).click()
    file = tmp_path / "exported.jsonl"
    download.value.save_as(file)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["eventIndex"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["sender"] for line in lines} == {"client", "agent"}
    inspector.page.get_by_role("link", name="Sandbox Agent").click()
    inspector.page.get_by_label("Import events").set_input_files(file)
    expect(inspector.page.get_by_text("Imported: this conversation can be read")).to_be_visible()
    expect(inspector.conversation).to_contain_text("exported words")
    expect(inspector.page.locator(".chat-title .pill").first).to_contain_text("Played Agent")
    last = max(line.get("streamEventId", 0) for line in lines)
    expect(inspector.page.locator(".stream-status").first).to_have_attribute(
        "title", re.compile(f"last event {last}")
    )
    with inspector.page.expect_download() as again:
        panel.get_by_role("button", name="Export", exact=True).click()
    kept = [json.loads(line) for line in Path(again.value.path()).read_text().splitlines()]
    assert [line.get("streamEventId") for line in kept] == [line.get("streamEventId") for line in lines]
    inspector.page.get_by_role("button", name="Rename session").click()
    inspector.page.get_by_role("textbox", name="Name of the session").fill("A run to look at")
    inspector.page.keyboard.press("Enter")
    expect(inspector.page.get_by_role("link", name="A run to look at")).to_be_visible()


def test_a_damaged_file_is_refused_with_a_reason(inspector: InspectorPage, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"sender":"agent","payload":{}}\nno json\n')
    inspector.page.get_by_label("Import events").set_input_files(damaged)
    expect(inspector.page.get_by_role("main").get_by_role("alert")).to_contain_text("Line 2")


@pytest.mark.clause("inspector-events")
def test_a_gap_is_shown_where_events_are_missing(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage]
) -> None:
    small = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "20", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}
    tab = open_page(start_server(token=None, settings=small))
    tab.create_session()
    tab.say_and_wait("echo before the gap")
    session = tab.page.url
    tab.page.goto("about:blank")
    params = {"sessionId": own_session_id(tab), "prompt": [{"type": "text", "text": "flood 200"}]}
    tab.server.acp.call(tab.server_id, "session/prompt", params)
    tab.page.goto(session)
    expect(tab.conversation.locator(".gap-mark")).to_be_visible()
    expect(tab.page.locator(".stream-status").first).to_have_attribute(
        "title", "Event stream: " + stream_title(tab)
    )
    expect(tab.conversation).to_contain_text("before the gap")


def own_session_id(tab: InspectorPage) -> str:
    with tab.server.acp.stream(tab.server_id) as stream:
        events = stream.until(lambda event: "sessionId" in (event.json().get("result") or {}))
    return str(events[-1].json()["result"]["sessionId"])


def stream_title(tab: InspectorPage) -> str:
    return f"last event {tab.server.acp.list()[-1]['lastEventId']}, 1 gap"
