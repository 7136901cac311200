"""Journeys through the inspector in Firefox, whose engine is not that of the other browser tests."""

from __future__ import annotations

import pytest

from tests.firefox.firefox_page import FirefoxPage
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.clause("inspector-firefox"), pytest.mark.timeout(150)]


def test_a_new_user_gets_a_first_answer(page: FirefoxPage) -> None:
    page.create_session()
    page.say("echo hello from firefox")
    page.wait_for_turns(1)
    page.expect_text(".message.assistant", "hello from firefox")


def test_a_reviewer_approves_a_change_by_the_mouse(page: FirefoxPage) -> None:
    page.create_session()
    page.say("permission")
    page.click(page.find("button", "Allow once"))
    page.wait_for_turns(1)
    page.expect_text("form[data-state=answered]", "Allow once")


def test_a_permission_is_answered_by_a_key(page: FirefoxPage) -> None:
    page.create_session()
    page.say("permission")
    page.select("form[data-state=pending]")
    page.press("1")
    page.press("Enter")
    page.wait_for_turns(1)
    assert page.count("form[data-state=answered]") == 1


def test_the_inbox_answers_a_session_in_the_background(page: FirefoxPage) -> None:
    page.create_session()
    page.say("permission")
    page.select("form[data-state=pending]")
    page.create_session()
    page.expect_text(".sidebar", "waits for you")
    page.click(page.select("a[href='/ui/inbox']"))
    page.click(page.find("button", "Allow once"))
    page.expect_text("main", "Nothing waits")


def test_a_reload_in_mid_turn_loses_nothing(page: FirefoxPage) -> None:
    page.create_session()
    page.say("stream 40 50")
    page.expect_text(".conversation", "chunk 3")
    page.reload()
    page.wait_for_turns(1)
    text = page.texts(".conversation")
    assert all(f"chunk {number}" in text for number in range(1, 41))
    page.expect_text(".message.user", "stream 40 50")


def test_markdown_is_drawn_and_runs_nothing(page: FirefoxPage) -> None:
    page.create_session()
    page.say("echo **bold** <img src=x onerror=document.title='ran'> `code`")
    page.wait_for_turns(1)
    page.expect_text(".message.assistant strong", "bold")
    page.expect_text(".message.assistant code", "code")
    assert page.count(".message img") == 0
    assert page.evaluate("document.title") != "ran"


def test_the_palette_leads_to_a_panel(page: FirefoxPage) -> None:
    page.create_session()
    page.press("Control+k")
    page.select("dialog [role=combobox]")
    page.press(*"Files", "Enter")
    page.expect_text("[role=tab][aria-selected=true]", "Files")


def test_a_terminal_runs_a_command(page: FirefoxPage) -> None:
    page.create_session()
    page.click(page.find("tab", "Terminal"))
    page.click(page.find("button", "New terminal"))
    # The shell's prompt.
    wait_until(lambda: page.texts(".xterm-rows").strip(), 30, "the shell")
    page.evaluate("document.querySelector('.xterm-helper-textarea').focus()")
    page.press(*"echo $((41+1))x", "Enter")
    page.expect_text(".xterm-rows", "42x")


def test_stop_ends_a_turn_and_the_session_goes_on(page: FirefoxPage) -> None:
    page.create_session()
    page.say("stream 400 100")
    page.expect_text(".conversation", "chunk 2")
    page.click(page.find("button", "Stop"))
    page.wait_for_turns(1)
    page.say("echo goes on")
    page.wait_for_turns(2)
    page.expect_text(".message.assistant", "goes on")


def test_another_client_is_watched_while_it_works(page: FirefoxPage, server: ServerProcess) -> None:
    call = server.acp.call
    call("elsewhere", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, agent="mock")
    opened = call("elsewhere", "session/new", {"cwd": str(server.home), "mcpServers": []})
    page.click(page.select("a[href='/ui/servers/elsewhere']"))
    prompt = [{"type": "text", "text": "echo said elsewhere"}]
    call("elsewhere", "session/prompt", {"sessionId": opened["sessionId"], "prompt": prompt})
    page.expect_text(".message.user", "echo said elsewhere")
    page.expect_text(".message.assistant", "said elsewhere")
