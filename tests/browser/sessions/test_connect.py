"""Connecting with and without a token, and where the page keeps the token."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from sandbox_agent import build_inspector_url
from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

TOKEN = "a token / with+signs"
Start = Callable[..., ServerProcess]
Open = Callable[..., InspectorPage]


def test_an_open_server_needs_no_connect_screen(inspector: InspectorPage) -> None:
    expect(inspector.page.get_by_role("heading", name="Start a session")).to_be_visible()


@pytest.mark.clause("inspector-connect")
def test_the_token_is_asked_for_and_a_wrong_one_is_refused_with_advice(
    start_server: Start, open_page: Open
) -> None:
    tab = open_page(start_server(token=TOKEN))
    page = tab.page
    expect(page.get_by_role("heading", name="Connect to Sandbox Agent")).to_be_visible()
    page.get_by_label("Token", exact=True).fill("wrong")
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("alert")).to_contain_text("SANDBOX_AGENT_TOKEN")
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("heading", name="Start a session")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Start a session")).to_be_visible()
    page.get_by_role("button", name="Disconnect").click()
    expect(page.get_by_role("heading", name="Connect to Sandbox Agent")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token", exact=True)).to_have_value("")


@pytest.mark.clause("inspector-connect")
@pytest.mark.parametrize("place", ["?", "#"])
def test_a_token_in_the_address_is_used_and_removed_at_once(
    start_server: Start, open_page: Open, place: str
) -> None:
    server = start_server(token="simple-secret")
    tab = open_page(server, f"/ui/{place}token=simple-secret")
    expect(tab.page.get_by_role("heading", name="Start a session")).to_be_visible()
    assert tab.page.url == tab.address("/ui/")
    tab.create_session()
    tab.say_and_wait("echo through the token")
    expect(tab.conversation).to_contain_text("through the token")
    assert "simple-secret" not in tab.page.content()


@pytest.mark.clause("inspector-connect")
def test_a_link_with_a_token_works_in_a_tab_that_asks_for_one(start_server: Start, open_page: Open) -> None:
    tab = open_page(start_server(token="simple-secret"))
    expect(tab.page.get_by_label("Token", exact=True)).to_be_visible()
    # Only the fragment changes, so the browser does not load the page again.
    tab.page.evaluate("location.href = '/ui/#token=simple-secret'")
    expect(tab.page.get_by_role("heading", name="Start a session")).to_be_visible()
    assert tab.page.url == tab.address("/ui/")


@pytest.mark.clause("inspector-connect", "sdk-inspector-address")
def test_the_address_of_the_sdk_opens_the_page_with_its_headers(start_server: Start, open_page: Open) -> None:
    server = start_server(token="simple-secret")
    tab = open_page(server, build_inspector_url("", headers={"Authorization": "Bearer simple-secret"}))
    expect(tab.page.get_by_role("heading", name="Start a session")).to_be_visible()
    assert tab.page.url == tab.address("/ui/")


def test_a_remembered_token_stays_remembered(start_server: Start, open_page: Open) -> None:
    page = open_page(start_server(token=TOKEN)).page
    page.get_by_label("Token", exact=True).fill(TOKEN)
    page.get_by_label("Remember the token in this browser").check()
    page.get_by_role("button", name="Connect").click()
    heading = page.get_by_role("heading", name="Start a session")
    expect(heading).to_be_visible()
    page.reload()
    expect(heading).to_be_visible()
    assert TOKEN in page.evaluate("Object.values(localStorage)")


@pytest.mark.clause("inspector-connect")
def test_a_deep_link_survives_the_connect_screen(start_server: Start, open_page: Open) -> None:
    server = start_server(token=TOKEN)
    tab = open_page(server, "/ui/servers/nothing-here")
    tab.page.get_by_label("Token", exact=True).fill(TOKEN)
    tab.page.get_by_role("button", name="Connect").click()
    expect(tab.page.get_by_text("This server is not running")).to_be_visible()
    expect(tab.page).to_have_url(re.compile("/ui/servers/nothing-here$"))


def test_a_server_that_goes_away_is_said_and_found_again(start_server: Start, open_page: Open) -> None:
    tab = open_page(start_server(token=None))
    expect(tab.page.get_by_text("No sessions yet")).to_be_visible()
    tab.server.stop()
    expect(tab.page.get_by_text("Connection lost, retrying").first).to_be_visible()
    expect(tab.page.get_by_text("No sessions yet")).to_be_visible()  # the last list stays


def test_a_panel_that_cannot_be_loaded_leaves_the_rest_of_the_page(
    start_server: Start, open_page: Open
) -> None:
    tab = open_page(start_server(token=None))
    expect(tab.page.get_by_role("tabpanel", name="Files").get_by_label("Directory")).not_to_have_value("")
    tab.server.stop()
    panel = tab.panel("Skills")
    expect(panel.get_by_role("alert")).to_contain_text("could not be shown")
    expect(panel.get_by_role("button", name="Load the page again")).to_be_visible()
    expect(tab.page.get_by_text("No sessions yet")).to_be_visible()
    expect(tab.panel("Files").get_by_label("Directory")).to_be_visible()
