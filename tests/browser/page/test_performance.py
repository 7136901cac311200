"""Many events: the page stays small and keeps its frame rate, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.main_thread import MainThread

MOST_NODES = 2000
UPDATES = 3000
SLOWEST_FRAME_MS = 50


@pytest.mark.clause("inspector-speed")
def test_twenty_thousand_events_stay_under_two_thousand_nodes(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("flood 20000")
    page: Any = inspector.page
    expect(inspector.panel("Events").get_by_test_id("event-count")).to_contain_text("20,0")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES
    expect(inspector.conversation).to_contain_text("20000")
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    expect(inspector.conversation.locator(".message.user")).to_contain_text("flood 20000")
    assert page.evaluate("document.querySelectorAll('*').length") < MOST_NODES


@pytest.mark.clause("inspector-speed")
def test_five_hundred_updates_a_second_keep_the_frames_short(
    inspector: InspectorPage, full_run: bool
) -> None:
    """Every run counts frames; `--full`, on a quiet machine, also bounds the time that a frame takes."""
    inspector.create_session()
    with MainThread(inspector.page) as main:
        inspector.say(f"stream {UPDATES} 2")
        inspector.wait_for_turns(1)
    assert 30 < len(main.frames_ms) < UPDATES / 2, "several updates share a frame"
    if full_run:
        assert main.frame_p95_ms < SLOWEST_FRAME_MS, sorted(main.frames_ms)[-20:]
    expect(inspector.conversation).to_contain_text(f"chunk {UPDATES}")


def scroll_up_until_visible(inspector: InspectorPage, button: Locator) -> None:
    """Turn the wheel again if a busy page lost an event."""
    for _ in range(10):
        inspector.page.mouse.wheel(0, -3000)
        try:
            expect(button).to_be_visible(timeout=1500)
            return
        except AssertionError:
            continue
    expect(button).to_be_visible()


def test_reading_above_is_not_disturbed_by_what_comes_below(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("stream 400")
    inspector.say("stream 100 20")
    inspector.conversation.hover()
    scroll_up_until_visible(inspector, inspector.page.get_by_role("button", name="Latest"))
    inspector.wait_for_turns(2)
    distance = "e => e.scrollHeight - e.scrollTop - e.clientHeight"
    assert inspector.conversation.evaluate(distance) > 500
    inspector.page.get_by_role("button", name="Latest").click()
    expect(inspector.conversation.locator(".turn-end").last).to_be_in_viewport()
