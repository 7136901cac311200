"""The timeline of turns, with the server's times, and the ways from it to cards and events."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.other_client import prompt_elsewhere, start_elsewhere
from tests.support.processes import wait_until


@pytest.mark.clause("inspector-timeline")
def test_a_turn_is_a_waterfall_that_leads_to_cards_and_events(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say_and_wait("stream 200")
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    inspector.wait_for_turns(2)
    panel = inspector.panel("Timeline")
    expect(panel.locator(".timeline-sum")).to_contain_text(re.compile(r"2 turns.*waiting for you.*tokens"))
    expect(panel.locator(".turn-head")).to_have_count(2)
    turn = panel.locator(".turn").last
    expect(turn.locator(".turn-head")).to_contain_text(re.compile(r"permission.*first token.*tokens"))
    expect(turn.locator(".span-row[data-kind=tool]")).to_have_count(1)
    waiting = turn.locator(".span-row[data-kind=waiting]")
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    waiting.get_by_role("button").first.click()
    expect(inspector.conversation.locator(".virtual-row.marked form")).to_be_in_viewport()
    waiting.get_by_role("button", name="Show the raw event").click()
    messages = inspector.page.get_by_role("region", name="Messages")
    expect(messages.locator(".marked, .selected, [aria-expanded=true]").first).to_contain_text(
        "session/request_permission"
    )


@pytest.mark.clause("inspector-timeline")
def test_the_failing_call_of_a_long_run_is_two_clicks_away(inspector: InspectorPage) -> None:
    """The journey of a debugger: 5,000 events, one failed call."""
    inspector.create_session()
    inspector.say_and_wait("stream 2500")
    inspector.say("error")
    inspector.wait_for_turns(2)
    inspector.say("flood 2500")
    inspector.wait_for_turns(3)
    panel = inspector.panel("Timeline")
    panel.get_by_role("button", name="1 failed call").click()
    expect(inspector.conversation.locator(".virtual-row.marked .tool.failed")).to_be_in_viewport()


@pytest.mark.clause("inspector-timeline", "inspector-33")
def test_events_from_before_have_the_time_of_the_server(
    inspector: InspectorPage, open_page: Callable[..., InspectorPage]
) -> None:
    session_id = start_elsewhere(inspector.server, "earlier")
    prompt_elsewhere(inspector.server, "earlier", session_id, "echo said earlier")
    done = time.time()
    wait_until(lambda: time.time() > done + 2, 5, "two seconds to pass")
    tab = open_page(inspector.server, "/ui/servers/earlier")
    expect(tab.conversation).to_contain_text("said earlier")
    shown = tab.conversation.locator(".message.assistant time").inner_text()
    script = "([text, done]) => new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit',"
    script += " second: '2-digit', hourCycle: 'h23' }).format(done) >= text && text !== ''"
    assert tab.page.evaluate(script, [shown, int(done * 1000)]), shown
