"""The conversation: everything the mock agent can show, stopping, switching, commands, attachments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.support.processes import wait_until


@pytest.mark.clause("inspector-conversation")
def test_markdown_is_rendered_and_html_stays_text(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("markdown")
    conversation = inspector.conversation
    expect(conversation.get_by_role("heading").first).to_be_visible()
    expect(conversation.locator(".md-code pre").first).to_be_visible()
    expect(conversation.locator("strong").first).to_be_visible()
    inspector.say("echo <img src=x onerror=alert(1)><script>alert(2)</script> [x](javascript:alert(3))")
    inspector.wait_for_turns(2)
    expect(conversation.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    assert conversation.locator("script, img, a[href^=javascript]").count() == 0


@pytest.mark.clause("inspector-conversation", "inspector-30")
def test_thoughts_plans_and_usage_are_shown(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("think")
    expect(inspector.conversation.locator(".thought").first).to_be_visible()
    inspector.say("plan")
    inspector.wait_for_turns(2)
    expect(inspector.conversation.locator(".plan li").first).to_be_visible()
    inspector.say("usage")
    inspector.wait_for_turns(3)
    pill = inspector.page.locator(".usage-pill")
    expect(pill).to_contain_text("tokens")
    expect(pill).to_have_attribute("title", re.compile("tokens in all turns.*context [0-9,]+ of 200,000"))
    expect(inspector.conversation.locator(".turn-end").last).to_contain_text("tokens")
    before = pill.inner_text()
    inspector.say("usage")
    inspector.wait_for_turns(4)
    expect(pill).not_to_have_text(before)
    inspector.say("hang")
    expect(inspector.page.locator(".chat-head .pill", has_text=re.compile(r"^\d+ s$"))).to_be_visible()


@pytest.mark.clause("inspector-conversation")
def test_notices_and_a_compaction_are_shown(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("notice The limit is near")
    for level in ("warning", "error"):
        expect(inspector.conversation.locator(f".note.{level}")).to_contain_text("The limit is near")
    inspector.say("compact")
    inspector.wait_for_turns(2)
    inspector.conversation.locator(".notes button").last.click()
    expect(inspector.conversation.locator(".notes").last).to_contain_text("So far we talked about mocks.")
    inspector.say("compact fail")
    inspector.wait_for_turns(3)
    expect(inspector.conversation.locator(".note.warning").last).to_contain_text("the summary was too long")


@pytest.mark.clause("inspector-conversation", "decision-34-in-the-inspector")
def test_a_page_to_visit_is_a_card_with_its_address(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("elicit url")
    expect(inspector.conversation).to_contain_text("https://example.com/login")
    inspector.page.get_by_role("button", name="Send answer").click()
    expect(inspector.conversation).to_contain_text("You answered: accept")
    inspector.conversation.locator(".notes button").last.click()
    expect(inspector.conversation.locator(".notes").last).to_contain_text(
        "The page that the agent opened is done"
    )


@pytest.mark.clause("inspector-conversation")
def test_tool_calls_show_input_output_diffs_and_terminal(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("tool")
    tool = inspector.conversation.locator(".tool").first
    expect(tool.locator(".tool-status")).to_have_text("done")
    tool.get_by_role("button").first.click()
    expect(tool.get_by_role("heading", name="Input")).to_be_visible()
    inspector.say("diff")
    inspector.wait_for_turns(2)
    expect(inspector.conversation.locator(".diff-line.added").first).to_be_visible()
    expect(inspector.conversation.locator(".diff-line.removed").first).to_be_visible()
    inspector.say("terminal")
    inspector.wait_for_turns(3)
    expect(inspector.conversation.get_by_label("Terminal output")).to_have_text("hello")
    expect(inspector.conversation).to_contain_text("exit code 0")


@pytest.mark.clause("inspector-conversation")
def test_a_picture_is_drawn(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("image")
    picture = inspector.conversation.locator("img.picture")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 0")


@pytest.mark.clause("inspector-steering")
def test_stop_ends_the_turn(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("hang")
    inspector.page.get_by_role("button", name="Stop").click()
    inspector.wait_for_turns(1)
    expect(inspector.conversation).to_contain_text("cancelled")
    wait_until(lambda: inspector.server.acp.list()[-1]["pendingRequests"] == 0, 10, "no pending request")


def test_stop_also_answers_an_open_permission(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("permission")
    expect(inspector.card("pending")).to_be_visible()
    inspector.page.get_by_role("button", name="Stop").click()
    inspector.wait_for_turns(1)
    expect(inspector.card("pending")).to_have_count(0)


@pytest.mark.clause("inspector-steering")
def test_mode_and_model_are_switched_in_mid_session(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.page.get_by_label("Mode", exact=True).select_option(label="Plan")
    inspector.page.get_by_label("Model").select_option(label="Mock Fast")
    expect(inspector.page.get_by_label("Model")).to_have_value("mock-fast")
    inspector.say_and_wait("info")
    expect(inspector.conversation).to_contain_text("mock-fast")
    expect(inspector.page.get_by_label("Mode", exact=True)).to_have_value("plan")


@pytest.mark.clause("inspector-steering")
def test_slash_commands_are_offered_and_completed_by_key(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("commands")
    inspector.composer.fill("/mark")
    expect(inspector.page.get_by_role("option", name="/markdown")).to_be_visible()
    inspector.composer.press("Tab")
    expect(inspector.composer).to_have_value("/markdown ")
    inspector.composer.press("Enter")
    inspector.wait_for_turns(2)
    expect(inspector.conversation.locator(".md-code").first).to_be_visible()


@pytest.mark.clause("inspector-steering")
def test_an_attachment_is_uploaded_and_reaches_the_agent(inspector: InspectorPage, tmp_path: Path) -> None:
    inspector.create_session()
    attached = tmp_path / "notes & more.txt"
    attached.write_text("what is attached")
    inspector.page.get_by_label("Attach files").set_input_files(attached)
    expect(inspector.page.locator(".chips")).to_contain_text("notes & more.txt")
    inspector.say_and_wait("look at this")
    expect(inspector.conversation).to_contain_text("received resource_link file://")
    uploads = list((inspector.server.home / ".sandbox-agent" / "attachments").glob("*notes & more.txt"))
    assert [path.read_text() for path in uploads] == ["what is attached"]


def test_errors_of_the_agent_are_shown(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("fail")
    expect(inspector.conversation.locator(".note.error")).to_be_visible()
    inspector.say("garbage")
    inspector.wait_for_turns(2)
    expect(inspector.conversation.locator(".note.warning").first).to_contain_text("not JSON")
