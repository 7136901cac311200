"""Requests of all sessions in one inbox."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-inbox", "inspector-07")
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


@pytest.mark.clause("inspector-inbox", "inspector-07")
def test_a_request_that_comes_later_notifies_and_a_reviewer_approves_its_change_in_the_inbox(
    inspector: InspectorPage,
) -> None:
    """The journey of a reviewer; the page is not in front when the agent asks."""
    page = inspector.page
    page.evaluate(
        """() => {
            window.shown = [];
            window.Notification = class {
                constructor(title, options) { window.shown.push([title, options.body]); }
            };
            window.Notification.permission = "granted";
            document.hasFocus = () => false;
        }"""
    )
    inspector.create_session("Played Agent")
    diff = {"type": "diff", "path": "/srv/app.py", "oldText": "old line\n", "newText": "new line\n"}
    tool_call = {"toolCallId": "t1", "title": "Edit app.py", "content": [diff]}
    options = [{"optionId": "yes", "name": "Allow once", "kind": "allow_once"}]
    ask = {"method": "session/request_permission", "params": {"toolCall": tool_call, "options": options}}
    inspector.play("later", {"pause": 3}, {"ask": ask})
    inspector.create_session()
    row = page.get_by_role("link", name=re.compile("play later"))
    expect(row).to_contain_text("working")
    expect(row).to_contain_text("waits for you")
    page.wait_for_function("window.shown.length === 1")
    assert page.evaluate("window.shown[0][1]") == "Edit app.py"
    page.get_by_role("link", name="Needs you").click()
    inbox = page.get_by_role("region", name="Needs you")
    expect(inbox.locator(".diff-line.added")).to_contain_text("new line")
    inbox.get_by_role("button", name="Allow once").click()
    expect(inbox).to_contain_text("Nothing waits for you")
    expect(row).to_contain_text("idle")
