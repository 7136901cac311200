"""Where things are on the screen: buttons under the mouse, narrow screens, panes, rows of the events list."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.browser.inspector_page import InspectorPage

# The ratio of WCAG between the colours of a label and of the button below it.
CONTRAST = """element => {
    const light = (colour) => {
        // A mixed colour is written as color(srgb 0.1 0.2 0.3).
        const most = colour.startsWith("color(") ? 1 : 255;
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => Number(part) / most);
        const [r, g, b] = parts.map((part) => part <= 0.04 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const { color, backgroundColor } = getComputedStyle(element);
    const [one, two] = [light(color), light(backgroundColor)].sort((a, b) => b - a);
    return (one + 0.05) / (two + 0.05);
}"""
CUT_OFF = """() => [...document.querySelectorAll("button, input, select, textarea, h1, h2, h3, p")]
    .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
    .filter((element) => !element.closest(".visually-hidden, .skip-link"))
    .filter((element) => {
        const box = element.getBoundingClientRect();
        return box.width > 1 && (box.left < -1 || box.right > innerWidth + 1);
    })
    // What is inside of a part that scrolls sideways is reached by scrolling it.
    .filter((element) => {
        for (let up = element.parentElement; up; up = up.parentElement)
            if (up.scrollWidth > up.clientWidth && /auto|scroll/.test(getComputedStyle(up).overflowX))
                return false;
        return true;
    })
    .map((element) => element.outerHTML.slice(0, 120))"""


@pytest.mark.clause("inspector-03")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_labels_of_primary_buttons_are_readable_under_the_mouse(inspector: InspectorPage, theme: str) -> None:
    page = inspector.page
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]  # a literal
    tried: dict[str, float] = {}

    def point_at(button: Locator) -> None:
        button.hover()
        tried[button.inner_text()] = button.evaluate(CONTRAST)

    point_at(page.get_by_role("button", name="New", exact=True))
    page.get_by_role("button", name="Mock", exact=False).first.click()
    point_at(page.get_by_role("button", name="Create session"))
    page.get_by_role("button", name="Create session").click()
    inspector.composer.fill("elicit")
    point_at(page.get_by_role("button", name="Send"))
    inspector.composer.press("Enter")
    point_at(inspector.card("pending").get_by_role("button", name="Send answer"))
    inspector.end_session()
    point_at(page.get_by_role("button", name="Resume"))
    assert len(tried) == 5
    assert {label: ratio for label, ratio in tried.items() if ratio < 4.5} == {}


@pytest.mark.clause("inspector-39")
def test_nothing_is_cut_off_on_a_phone(inspector: InspectorPage) -> None:
    page = inspector.page
    page.set_viewport_size({"width": 390, "height": 780})
    cut: dict[str, list[str]] = {}

    def look(name: str) -> None:
        found = page.evaluate(CUT_OFF)
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        if found or wide:
            cut[name] = [*found, "the page is too wide"] if wide else found

    expect(page.get_by_role("heading", name="Start a session")).to_be_visible()
    look("start")
    page.get_by_role("button", name="Sessions", exact=True).click()
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name="Mock").check()
    expect(dialog.get_by_label("Model")).to_be_visible()
    look("dialog")
    dialog.get_by_role("button", name="Create session").click()
    inspector.say("demo")
    expect(inspector.card("pending")).to_be_visible()
    look("conversation")
    page.get_by_role("button", name="Panels", exact=True).click()
    for name in (
        "Events",
        "Timeline",
        "Processes",
        "Changes",
        "Agents",
        "Files",
        "MCP",
        "Skills",
        "Requests",
    ):
        inspector.panel(name)
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        look(name)
    assert cut == {}


@pytest.mark.clause("inspector-40")
def test_panes_are_resized_and_folded_and_stay_so(inspector: InspectorPage) -> None:
    page = inspector.page
    dock, side = (
        page.get_by_role("complementary", name="Panels"),
        page.get_by_role("complementary", name="Sessions"),
    )
    expect(dock).to_be_visible()

    def width(pane: Locator) -> float:
        box = pane.bounding_box()
        assert box
        return box["width"]

    before = width(dock)
    border = page.get_by_role("separator", name="Width of the panels")
    handle = border.bounding_box()
    assert handle
    page.mouse.move(handle["x"] + 2, 400)
    page.mouse.down()
    page.mouse.move(handle["x"] - 98, 400, steps=4)
    page.mouse.up()
    assert width(dock) == pytest.approx(before + 100, abs=3)
    border.focus()
    page.keyboard.press("ArrowRight")
    assert width(dock) == pytest.approx(before + 76, abs=3)
    page.get_by_role("button", name="Side bar").click()
    expect(side).to_have_count(0)
    page.reload()
    expect(dock).to_be_visible()
    assert width(dock) == pytest.approx(before + 76, abs=3)
    expect(side).to_have_count(0)


@pytest.mark.clause("inspector-40")
def test_a_window_too_narrow_for_three_columns_starts_with_the_panels_folded(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    page.set_viewport_size({"width": 1000, "height": 800})
    page.reload()
    expect(page.get_by_role("complementary", name="Panels")).to_have_count(0)
    page.get_by_role("button", name="Panels beside").click()
    expect(page.get_by_role("tab", name="Requests")).to_be_in_viewport(ratio=1)


@pytest.mark.clause("inspector-32", "inspector-33", "inspector-43")
def test_rows_of_events_have_one_height_and_the_order_in_which_things_happened(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    failed: list[Request] = []
    page.on("requestfailed", lambda request: failed.append(request))
    inspector.create_session()
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    inspector.wait_for_turns(1)
    inspector.say("echo " + "a long prompt " * 40)
    inspector.wait_for_turns(2)
    panel = inspector.panel("Events")
    rows = panel.locator(".event")
    shown: list[dict[str, Any]] = rows.evaluate_all(
        """rows => rows.map((row) => ({
            text: row.innerText, height: row.offsetHeight,
            time: row.querySelector("time").getBoundingClientRect().right
                <= row.getBoundingClientRect().right,
        }))"""
    )
    assert {row["height"] for row in shown} == {shown[0]["height"]}
    assert all(row["time"] for row in shown)
    names = [
        name
        for row in shown
        for name in row["text"].split()
        if "/" in name or name in ("result", "tool_call")
    ]
    assert names[:4] == ["initialize", "result", "session/new", "result"] or names[:3] == [
        "result",
        "session/new",
        "result",
    ]
    asked = names.index("session/request_permission")
    assert names[asked - 1 : asked + 2] == ["tool_call", "session/request_permission", "result"]
    assert [request.url for request in failed if request.method == "POST"] == []


@pytest.mark.clause("inspector-panels")
def test_pages_without_a_conversation_show_the_sandbox_beside_them(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    expect(inspector.panel("Events").get_by_role("region", name="Messages")).to_be_visible()
    for name in ("Needs you", "Compare agents", "Sandbox Agent"):
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("tabpanel", name="Files").get_by_label("Directory")).not_to_have_value("")
        expect(page.get_by_role("tab", name="Events")).to_have_count(0)
        page.go_back()
        expect(page.get_by_role("tabpanel", name="Events").get_by_role("region")).to_be_visible()
