"""A conversation saved as one HTML file: it opens from the disk, replays, and runs nothing said in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.browser.inspector_page import InspectorPage

HOSTILE = (
    "echo </script><script>document.title='ran'</script>"
    "<!--<script><img src=x onerror=\"document.title='ran'\"> \u2028 $& ${document.title}"
)


class SavedSession:
    """A saved file, opened without a server and without a network."""

    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.requests: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._console_message)
        page.goto(file.as_uri())

    def _console_message(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    @property
    def slider(self) -> Locator:
        return self.page.get_by_role("slider", name="Position")

    @property
    def conversation(self) -> Locator:
        return self.page.get_by_role("region", name="Conversation")

    def expect_position(self, position: int | str) -> None:
        expect(self.slider).to_have_value(str(position))


def save(inspector: InspectorPage, folder: Path) -> Path:
    with inspector.page.expect_download() as downloading:
        inspector.page.get_by_role("button", name="Save as HTML").click()
    file = folder / downloading.value.suggested_filename
    downloading.value.save_as(file)
    return file


@pytest.mark.clause("inspector-export")
def test_a_saved_session_replays_from_the_disk_and_runs_nothing(
    inspector: InspectorPage, context: BrowserContext, tmp_path: Path
) -> None:
    inspector.create_session()
    inspector.say_and_wait(HOSTILE)
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    inspector.wait_for_turns(2)
    file = save(inspector, tmp_path)
    assert re.fullmatch(r"[\w-]+\.html", file.name)
    for entry in inspector.server.acp.list():
        inspector.server.acp.delete(entry["serverId"])

    context.set_offline(True)
    saved = SavedSession(context.new_page(), file)
    end = saved.slider.get_attribute("max")
    assert end is not None
    saved.expect_position(end)
    expect(saved.conversation).to_contain_text("Permission outcome: selected")
    expect(saved.conversation.locator("form[data-state=answered]")).to_have_count(1)
    expect(saved.conversation).to_contain_text("document.title='ran'")
    # The messages before the first prompt hold no conversation.
    saved.page.keyboard.press("Shift+ArrowLeft")
    expect(saved.conversation.locator("form")).to_have_count(0)
    expect(saved.conversation.locator(".message.user").last).to_contain_text("permission")
    saved.slider.focus()
    saved.page.keyboard.press("Home")
    saved.expect_position(0)
    expect(saved.conversation.locator(".message")).to_have_count(0)
    saved.conversation.focus()
    saved.page.keyboard.press("ArrowRight")
    saved.expect_position(1)
    saved.slider.fill(str(int(end) - 1))
    expect(saved.conversation.get_by_label("The agent is working")).to_be_visible()
    # Played from the start, with pauses of a second at most.
    saved.slider.fill(end)
    saved.page.get_by_label("Speed").select_option("16")
    saved.conversation.focus()
    saved.page.keyboard.press("Space")
    expect(saved.page.get_by_role("button", name="Pause")).to_be_visible()
    expect(saved.page.get_by_role("button", name="Play")).to_be_visible()
    saved.expect_position(end)
    assert "ran" not in saved.page.title().split()
    assert saved.requests == [file.as_uri()]
    assert saved.errors == []
