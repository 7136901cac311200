"""Ends, restarts and a faulty network: no session, draft or event is lost."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from tests.browser.faulty_network import FaultyNetwork
from tests.browser.inspector_page import InspectorPage
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

Open = Callable[..., InspectorPage]
StartServer = Callable[..., ServerProcess]

LOST = "Connection lost, retrying"


def notice(inspector: InspectorPage) -> Locator:
    return inspector.page.locator(".connection-lost")


def use_again(inspector: InspectorPage, ended_turns: int) -> None:
    """Resume the session and check that it takes a prompt."""
    page = inspector.page
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_role("button", name="Resume", exact=True)).to_have_count(0)
    inspector.say("echo works again")
    inspector.wait_for_turns(ended_turns + 1)
    expect(inspector.conversation.get_by_text("works again", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


@pytest.mark.clause("inspector-nothing-lost", "inspector-01", "inspector-31")
def test_a_session_that_is_ended_in_mid_turn_is_used_again(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say("stream 300 100")
    expect(inspector.conversation).to_contain_text("chunk 3")
    inspector.end_session()
    inspector.wait_for_turns(1)
    expect(inspector.conversation).to_contain_text("interrupted")
    expect(page.get_by_label("The agent is working")).to_have_count(0)
    use_again(inspector, 1)
    page.reload()
    inspector.wait_for_turns(2)
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)


@pytest.mark.clause("inspector-nothing-lost", "inspector-01", "inspector-31")
def test_an_agent_that_ignores_stop_is_ended_and_used_again(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say("hang hard")
    page.get_by_role("button", name="Stop").click()
    page.get_by_role("button", name="No reaction: end the process").click()
    inspector.wait_for_turns(1)
    use_again(inspector, 1)


@pytest.mark.clause("inspector-nothing-lost", "inspector-server-restarted", "inspector-01", "inspector-02")
def test_a_server_that_was_killed_in_mid_turn_is_used_again(
    start_server: StartServer, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start_server("first", token=None)
    inspector = open_page(server)
    inspector.create_session()
    inspector.say("stream 300 100")
    expect(inspector.conversation).to_contain_text("chunk 3")
    server.signal(signal.SIGKILL)
    server.wait_for_exit(10)
    expect(notice(inspector)).to_contain_text(LOST)
    expect(inspector.page.get_by_role("button", name="Resume", exact=True)).to_have_count(0)
    monkeypatch.setattr("tests.support.server_process.free_port", lambda: server.port)
    inspector.server = start_server("second", token=None)
    inspector.wait_for_turns(1)
    expect(notice(inspector)).to_have_count(0)
    use_again(inspector, 1)


@pytest.mark.clause("inspector-nothing-lost", "inspector-02", "inspector-05")
@pytest.mark.parametrize("fault", ["reset", "refuse", "swallow"])
def test_a_faulty_network_costs_neither_draft_nor_event(
    server: ServerProcess, context: BrowserContext, fault: str
) -> None:
    with FaultyNetwork(server.port) as network:
        page = context.new_page()
        inspector = InspectorPage(page, server)
        page.goto(f"http://127.0.0.1:{network.port}/ui/")
        inspector.create_session()
        inspector.say("stream 60 100")
        expect(inspector.conversation).to_contain_text("chunk 3")
        inspector.composer.fill("a draft of the next prompt")
        getattr(network, fault)()
        if fault != "reset":
            expect(notice(inspector)).to_contain_text(LOST)
            expect(page.get_by_role("button", name="Resume", exact=True)).to_have_count(0)
            expect(inspector.composer).to_have_value("a draft of the next prompt")
            network.heal()
        inspector.wait_for_turns(1)
        expect(notice(inspector)).to_have_count(0)
        expect(inspector.composer).to_have_value("a draft of the next prompt")
        text = inspector.conversation.inner_text()
        assert re.findall(r"chunk (\d+)", text) == [str(n) for n in range(1, 61)]
        stored = wait_until(
            lambda: [row for row in inspector.stored_messages() if row["sender"] == "agent"], 10, "events"
        )
        positions = [row["position"] for row in stored]
        assert positions == list(range(1, len(positions) + 1))
        page.reload()
        expect(inspector.composer).to_have_value("a draft of the next prompt")
        inspector.composer.press("Enter")
        inspector.wait_for_turns(2)
        page.close()


@pytest.mark.clause("inspector-nothing-lost", "inspector-05", "inspector-16")
def test_drafts_survive_a_change_of_session_and_cancel_cancels(inspector: InspectorPage) -> None:
    page = inspector.page
    first = inspector.create_session()
    inspector.composer.fill("draft of the first")
    inspector.create_session()
    expect(inspector.composer).to_have_value("")
    inspector.composer.fill("draft of the second")
    page.locator(f"a[href='/ui/sessions/{first}']").click()
    expect(inspector.composer).to_have_value("draft of the first")
    instances = len(inspector.server.acp.list())
    # The start is held back so that the dialog is left in the midst of it.
    page.route("**/v1/acp/ui-*?agent=*", lambda route: None)
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name=re.compile("^Mock")).check()
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog.get_by_role("progressbar")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_have_count(0)
    expect(page.get_by_role("button", name="New", exact=True)).to_be_focused()
    assert page.url.endswith(first)
    assert len(inspector.server.acp.list()) == instances


@pytest.mark.clause("inspector-nothing-lost", "inspector-05")
def test_a_file_that_changed_meanwhile_is_not_overwritten_and_edits_are_kept(
    inspector: InspectorPage,
) -> None:
    page, home = inspector.page, inspector.server.home
    notes = home / "notes.txt"
    notes.write_text("first\n")
    files = inspector.panel("Files")
    files.get_by_role("button", name="notes.txt", exact=True).click()
    text = files.get_by_label("File content")
    text.fill("my edit\n")
    files.get_by_role("button", name="Back").click()
    files.get_by_role("button", name="notes.txt", exact=True).click()
    expect(text).to_have_value("my edit\n")
    page.reload()
    inspector.panel("Files").get_by_role("button", name="notes.txt", exact=True).click()
    expect(text).to_have_value("my edit\n")
    notes.write_text("written by the agent\n")
    text.press("Control+s")
    expect(files.get_by_role("alert")).to_contain_text("changed on the server")
    assert notes.read_text() == "written by the agent\n"
    files.get_by_role("button", name="Overwrite").click()
    expect(files.get_by_text("Saved.")).to_be_visible()
    assert notes.read_text() == "my edit\n"
