"""Sessions beyond one browser: prompts of other clients, links in another browser, read-only shares."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.other_client import prompt_elsewhere, start_elsewhere
from tests.support.server_process import ServerProcess

Open = Callable[..., InspectorPage]


@pytest.mark.clause("inspector-all-clients", "inspector-38")
def test_prompts_of_other_clients_are_shown_in_order_and_once(inspector: InspectorPage) -> None:
    session_id = start_elsewhere(inspector.server, "another")
    for number in (1, 2):
        prompt_elsewhere(inspector.server, "another", session_id, f"echo number {number}")
    inspector.page.goto(inspector.address("/ui/servers/another"))
    messages = inspector.conversation.locator(".message")
    expect(messages).to_have_count(4)
    prompts = inspector.conversation.locator(".message.user")
    expect(prompts).to_have_count(2)
    assert "echo number 1" in messages.nth(0).inner_text() and "number 1" in messages.nth(1).inner_text()
    assert "echo number 2" in messages.nth(2).inner_text()
    inspector.wait_for_turns(2)
    prompt_elsewhere(inspector.server, "another", session_id, "echo live")
    expect(prompts).to_have_count(3)
    inspector.page.get_by_label("Take part").check()
    inspector.say("echo own")
    expect(inspector.conversation).to_contain_text("echo own")
    inspector.wait_for_turns(4)
    expect(prompts).to_have_count(4)
    inspector.page.reload()
    expect(prompts).to_have_count(4)


@pytest.mark.clause("inspector-all-clients", "inspector-38")
def test_the_link_of_a_session_works_in_another_browser(inspector: InspectorPage, browser: Browser) -> None:
    inspector.create_session()
    inspector.say("permission")
    expect(inspector.card("pending")).to_be_visible()
    other = browser.new_context()
    try:
        elsewhere = InspectorPage(other.new_page(), inspector.server)
        elsewhere.page.goto(inspector.page.url)
        expect(elsewhere.conversation.locator(".message.user")).to_contain_text("permission")
        expect(elsewhere.card("pending")).to_be_visible()
        inspector.card("pending").get_by_role("button", name="Allow once").click()
        # The answer of the first browser is shown in the other one.
        expect(elsewhere.card("answered")).to_contain_text("Allow once")
        elsewhere.wait_for_turns(1)
        elsewhere.page.get_by_label("Take part").check()
        elsewhere.say("echo from the other browser")
        expect(inspector.conversation.locator(".message.user").last).to_contain_text("from the other browser")
        inspector.wait_for_turns(2)
        assert elsewhere.violations == []
    finally:
        other.close()
    # What the other browser said is in the history of this one.
    inspector.page.reload()
    expect(inspector.conversation.locator(".message.user").last).to_contain_text("from the other browser")
    expect(inspector.conversation.locator(".message.user")).to_have_count(2)


@pytest.mark.clause("inspector-share")
def test_a_share_is_read_only_and_ends_when_it_is_revoked(
    start_server: Callable[..., ServerProcess], open_page: Open, browser: Browser
) -> None:
    server = start_server("shared", token="simple-secret")
    tab = open_page(server, "/ui/#token=simple-secret")
    tab.create_session()
    tab.say("permission")
    tab.page.get_by_role("button", name="Share", exact=True).click()
    dialog = tab.page.get_by_role("dialog", name="Share this session")
    dialog.get_by_role("button", name="Create a link").click()
    link = dialog.get_by_label("Link", exact=True).input_value()
    assert "#ticket=" in link and "simple-secret" not in link
    ticket = link.rpartition("=")[2]
    other = browser.new_context()
    try:
        reader = InspectorPage(other.new_page(), server)
        asked: list[str] = []
        reader.page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
        reader.page.goto(link)
        expect(reader.conversation.locator(".message.user")).to_contain_text("permission")
        expect(reader.page.get_by_text("read-only", exact=True)).to_be_visible()
        box = reader.conversation.bounding_box()
        assert box and box["height"] > 400, "the conversation has the room between the head and the last line"
        reader.page.set_viewport_size({"width": 390, "height": 780})
        expect(reader.conversation.locator(".message.user")).to_be_visible()
        assert ticket not in reader.page.url
        expect(reader.page.get_by_role("button", name="Allow once")).to_be_disabled()
        expect(reader.composer).to_have_count(0)
        reader.page.reload()
        expect(reader.conversation.locator(".message.user")).to_contain_text("permission")
        expect(dialog.get_by_role("list", name="Links")).to_contain_text("reader")
        dialog.get_by_role("button", name="Revoke").click()
        dialog.get_by_role("button", name="End this link?").click()
        expect(reader.page.get_by_text("The link has expired or was revoked")).to_be_visible()
        reader.page.reload()
        expect(reader.page.get_by_text("This link does not open anything")).to_be_visible()
        called = [line for line in asked if "/v1/" in line]
        assert called and all(line.startswith("GET ") and "/v1/acp" in line for line in called), called
        assert not any(ticket in line for line in called)
        assert reader.violations == []
    finally:
        other.close()


@pytest.mark.clause("inspector-share")
def test_a_server_without_a_token_says_that_everything_is_open(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.page.get_by_role("button", name="Share", exact=True).click()
    dialog = inspector.page.get_by_role("dialog", name="Share this session")
    dialog.get_by_role("button", name="Create a link").click()
    expect(dialog.get_by_text("This server has no token")).to_be_visible()
