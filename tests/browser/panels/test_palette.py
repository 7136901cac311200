"""Ctrl+K and the list of keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious_findings
from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-palette", "inspector-41")
def test_sessions_panels_and_actions_are_reached_by_name(inspector: InspectorPage) -> None:
    page, keys = inspector.page, inspector.page.keyboard
    first = inspector.create_session()
    inspector.say_and_wait("echo the needle of the first session")
    inspector.create_session()
    palette = page.get_by_role("dialog", name="Go to")

    def open_palette() -> None:
        keys.press("Control+k")
        expect(palette.get_by_role("combobox")).to_be_focused()

    open_palette()
    assert serious_findings(inspector) == []
    keys.type("needle")
    expect(palette.get_by_role("option")).to_have_count(1)
    keys.press("Enter")
    expect(palette).to_have_count(0)
    assert page.url.endswith(first)
    open_palette()
    keys.type("panel")
    keys.press("ArrowDown")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Timeline")
    keys.press("Enter")
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    open_palette()
    keys.type("theme")
    keys.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.get_by_role("tab", name="Timeline").focus()
    keys.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Ctrl+K")
    keys.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    inspector.composer.fill("what?")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.clause("inspector-palette")
def test_the_agent_is_logged_out_and_the_session_deleted_where_it_can(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say_and_wait("hello")
    page.on("dialog", lambda dialog: dialog.accept())

    def choose(words: str) -> None:
        page.keyboard.press("Control+k")
        expect(page.get_by_role("dialog", name="Go to").get_by_role("combobox")).to_be_focused()
        page.keyboard.type(words)
        page.keyboard.press("Enter")

    choose("log the agent out")
    expect(inspector.conversation).to_contain_text("The agent is logged out")
    advice = page.get_by_role("region", name="Login of the agent")
    advice.get_by_role("button", name="Mock login").click()
    expect(advice).to_contain_text("the agent accepted the login")
    inspector.say("hello again")
    inspector.wait_for_turns(2)
    expect(advice).to_have_count(0)
    choose("delete the session")
    expect(inspector.conversation).to_contain_text("The agent has deleted the session")
    expect(page.get_by_role("button", name="Resume").first).to_be_visible()
    assert inspector.server.acp.list() == []
