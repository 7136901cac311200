"""Accessibility: no serious findings of axe, use by keyboard alone, narrow screens, both themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious_findings
from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-looks")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_has_no_serious_findings(inspector: InspectorPage, theme: str) -> None:
    inspector.page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal
    expect(inspector.page.get_by_role("heading", name="Start a session")).to_be_visible()
    assert serious_findings(inspector) == []
    inspector.create_session()
    inspector.say("demo")
    expect(inspector.card("pending")).to_be_visible()
    assert serious_findings(inspector) == []
    for name in ("Agents", "Files", "MCP", "Skills", "Requests"):
        inspector.panel(name)
        expect(inspector.page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        assert serious_findings(inspector) == [], name


@pytest.mark.clause("inspector-looks", "inspector-03")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_has_no_serious_findings_under_the_mouse_and_with_the_focus(
    inspector: InspectorPage, theme: str
) -> None:
    page = inspector.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal
    inspector.create_session()
    inspector.say("permission")
    card = inspector.card("pending")
    expect(card).to_be_visible()
    inspector.panel("Timeline")
    expect(page.locator(".span-button").first).to_be_visible()
    inspector.composer.fill("a draft")
    for element in (
        page.get_by_role("button", name="New", exact=True),
        page.get_by_role("button", name="End", exact=True),
        page.get_by_role("button", name="Queue"),
        page.get_by_role("tab", name="Files"),
        page.locator(".side-row").first,
        page.locator(".span-button").first,
        page.locator(".turn-head").first,
        card.locator("[data-option]").first,
    ):
        element.hover()
        assert serious_findings(inspector) == [], element
        element.focus()
        assert serious_findings(inspector) == [], element


@pytest.mark.clause("inspector-looks")
def test_a_session_is_created_used_and_left_by_keys_alone(inspector: InspectorPage) -> None:
    page = inspector.page
    expect(page.get_by_role("heading", name="Start a session")).to_be_visible()
    keyboard = page.keyboard
    for _ in range(40):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").strip() == "New":
            break
    keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="New session")
    radio = dialog.get_by_role("radio", name="Mock")
    expect(radio).to_be_visible()
    expect(dialog.get_by_label("Directory")).not_to_have_value("")
    for _ in range(40):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    keyboard.press("Space")
    expect(radio).to_be_checked()
    keyboard.press("Enter")
    expect(inspector.composer).to_be_visible()
    for _ in range(60):
        keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Prompt":
            break
    keyboard.type("permission")
    keyboard.press("Enter")
    expect(inspector.card("pending")).to_be_focused()
    keyboard.press("1")
    keyboard.press("Enter")
    expect(inspector.card("answered")).to_be_visible()
    inspector.wait_for_turns(1)


@pytest.mark.clause("inspector-looks")
def test_on_a_narrow_screen_every_part_is_reached(inspector: InspectorPage) -> None:
    page = inspector.page
    page.set_viewport_size({"width": 390, "height": 780})
    page.get_by_role("button", name="Sessions", exact=True).click()
    inspector.create_session()
    inspector.say_and_wait("markdown")
    expect(inspector.conversation).to_be_visible()
    page.get_by_role("button", name="Panels", exact=True).click()
    expect(inspector.panel("Events").get_by_role("region", name="Messages")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.clause("inspector-42")
def test_the_theme_can_be_chosen_and_is_kept(inspector: InspectorPage) -> None:
    page = inspector.page
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name="Theme: system").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
