"""The pictures of docs/inspector.md: written there with `SANDBOX_AGENT_DOC_IMAGES=1`, else thrown away."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage

Take = Callable[[InspectorPage, str], None]
DOC_IMAGES = Path(__file__).parents[2] / "docs" / "images"


@pytest.fixture
def take(tmp_path: Path) -> Take:
    folder = DOC_IMAGES if os.environ.get("SANDBOX_AGENT_DOC_IMAGES") else tmp_path
    folder.mkdir(parents=True, exist_ok=True)

    def picture(inspector: InspectorPage, name: str) -> None:
        path = folder / f"inspector-{name}.png"
        inspector.page.screenshot(path=path, animations="disabled")
        assert path.stat().st_size > 5_000

    return picture


def test_pictures_of_a_session(inspector: InspectorPage, take: Take) -> None:
    page = inspector.page
    page.set_viewport_size({"width": 1360, "height": 850})
    expect(page.get_by_role("button", name="Mock")).to_be_visible()
    take(inspector, "start")
    page.get_by_role("button", name="Mock").click()
    expect(page.get_by_label("Model")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_label("Directory")).not_to_have_value("")
    take(inspector, "new-session")
    page.get_by_role("button", name="Create session").click()
    inspector.say("demo")
    expect(inspector.card("pending")).to_be_visible()
    take(inspector, "permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    expect(inspector.card("pending").locator("[data-option]").first).to_be_visible()
    page.get_by_role("button", name="Universal").click()
    take(inspector, "question")
    inspector.card("pending").locator("[data-option]").first.click()
    inspector.wait_for_turns(1)
    page.emulate_media(color_scheme="dark")
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    expect(inspector.conversation.locator(".message.user").first).to_be_visible()
    inspector.panel("Agents")
    expect(page.get_by_role("article", name="Mock")).to_be_visible()
    take(inspector, "dark")


def test_pictures_of_servers_panels_and_a_narrow_screen(inspector: InspectorPage, take: Take) -> None:
    page = inspector.page
    page.set_viewport_size({"width": 1360, "height": 850})
    inspector.create_session()
    inspector.say_and_wait("diff")
    inspector.say("stderr 300")
    inspector.wait_for_turns(2)
    inspector.panel("Files")
    take(inspector, "files")
    inspector.say("crash 3")
    expect(page.locator(".exit-notice")).to_contain_text("exit code 3")
    inspector.panel("Requests")
    take(inspector, "exited")
    page.set_viewport_size({"width": 390, "height": 780})
    expect(page.get_by_role("button", name="Panels", exact=True)).to_be_visible()
    take(inspector, "narrow")
