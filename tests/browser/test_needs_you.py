"""Requests of all sessions in one inbox; labels stay readable under the mouse."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.test_accessibility import serious_findings


@pytest.mark.clause("inspector-inbox")
def test_a_request_of_a_session_in_the_background_is_told_and_answered_in_the_inbox(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    first = inspector.create_session()
    inspector.say("permission")
    expect(inspector.card("pending")).to_be_visible()
    inspector.create_session()
    row = page.locator(f"a[href='/ui/sessions/{first}']")
    expect(row).to_contain_text("waits for you")
    page.reload()
    expect(row).to_contain_text("waits for you")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("favicon-waiting"))
    page.get_by_role("link", name="Needs you").click()
    inbox = page.get_by_role("region", name="Needs you")
    inbox.get_by_role("button", name="Allow once").click()
    expect(inbox).to_contain_text("Nothing waits for you")
    expect(page).not_to_have_title(re.compile(r"^\("))
    expect(row).to_contain_text("idle")


@pytest.mark.clause("inspector-looks")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_has_no_serious_findings_under_the_mouse_and_with_the_focus(
    inspector: InspectorPage, theme: str
) -> None:
    page = inspector.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal
    new = page.get_by_role("button", name="New", exact=True)
    new.hover()
    assert serious_findings(inspector) == []
    new.focus()
    assert serious_findings(inspector) == []
    inspector.create_session()
    inspector.composer.fill("words")
    page.get_by_role("button", name="Send").hover()
    assert serious_findings(inspector) == []
