"""From nothing to a first answer: the dialog of a new session, keys, installs, directories."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.browser.axe import serious_findings
from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

SLOW_INSTALL = {"install": 'node -e "setTimeout(() => {}, 5000)"'}


def dialog_of(inspector: InspectorPage) -> Locator:
    inspector.page.get_by_role("button", name="New", exact=True).click()
    return inspector.page.get_by_role("dialog", name="New session")


@pytest.mark.clause("inspector-13", "inspector-18")
def test_an_agent_without_a_key_says_which_one_it_needs_and_takes_it(inspector: InspectorPage) -> None:
    page = inspector.page
    tile = page.get_by_role("button", name="Locked Agent")
    expect(tile).to_contain_text("Needs LOCKED_KEY")
    tile.click()
    dialog = page.get_by_role("dialog", name="New session")
    expect(dialog.get_by_role("radio", name=re.compile("^Locked Agent"))).to_be_checked()
    expect(dialog.get_by_role("group", name=re.compile("needs a key"))).to_contain_text("LOCKED_KEY")
    expect(dialog.get_by_label("Directory")).not_to_have_value("")
    assert serious_findings(inspector) == []
    dialog.get_by_role("button", name="Create session").click()
    expect(inspector.composer).to_be_focused()
    expect(page.locator(".chat-head")).to_contain_text("Locked Agent")
    inspector.say_and_wait("hello")
    advice = page.get_by_role("region", name="Login of the agent")
    expect(advice).to_contain_text("The agent is not logged in")
    expect(advice).to_contain_text("Opens the page of the vendor")
    advice.get_by_role("button", name="Log in with a browser").click()
    expect(advice).to_contain_text("the agent accepted the login")
    inspector.conversation.get_by_role("button", name="Retry").click()
    inspector.wait_for_turns(2)
    expect(inspector.conversation).to_contain_text("received text")
    expect(advice).to_have_count(0)

    dialog = dialog_of(inspector)
    dialog.get_by_role("radio", name=re.compile("^Locked Agent")).check()
    dialog.get_by_label("Key").fill("a-secret-key")
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog).to_have_count(0)
    inspector.say_and_wait("hello again")
    expect(inspector.conversation).to_contain_text("received text")
    everything = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "a-secret-key" not in everything
    assert "a-secret-key" not in str(inspector.stored_messages())


@pytest.mark.clause("inspector-17")
def test_a_directory_is_completed_checked_and_created(inspector: InspectorPage) -> None:
    home = inspector.server.home
    (home / "existing").mkdir(exist_ok=True)
    (home / "a-file").write_text("")
    dialog = dialog_of(inspector)
    field = dialog.get_by_label("Directory")
    expect(field).not_to_have_value("")
    field.fill(f"{home}/")
    expect(dialog.locator(f"datalist option[value='{home}/existing']")).to_have_count(1)
    field.fill(f"{home}/a-file")
    expect(dialog).to_contain_text("This is a file, not a directory")
    field.fill(f"{home}/made/here")
    expect(dialog).to_contain_text("This directory does not exist")
    dialog.get_by_role("radio", name="Mock").check()
    dialog.get_by_role("button", name="Create session").click()
    expect(field).to_be_focused()
    expect(dialog).to_contain_text("This directory does not exist")
    assert not (home / "made").exists() and inspector.server.acp.list() == []
    dialog.get_by_role("button", name="Create it").click()
    expect(dialog).not_to_contain_text("does not exist")
    assert (home / "made" / "here").is_dir()
    dialog.get_by_role("button", name="Create session").click()
    expect(inspector.composer).to_be_focused()
    expect(dialog_of(inspector).locator(f"datalist option[value='{home}/made/here']")).to_have_count(1)
    inspector.page.keyboard.press("Escape")
    expect(inspector.page.get_by_role("button", name="New", exact=True)).to_be_focused()


@pytest.mark.clause("inspector-14", "inspector-15", "inspector-16")
def test_an_install_shows_its_progress_in_the_dialog_and_the_tiles_learn_of_it(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage], tmp_path: Path
) -> None:
    agents = tmp_path / "agents.toml"
    agents.write_text(
        npm_agent(npm_package(tmp_path / "slow", scripts=SLOW_INSTALL))
        + npm_agent(npm_package(tmp_path / "other"), "other")
    )
    settings = {
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0",
        "SANDBOX_AGENT_AGENTS_FILE": str(agents),
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_cache": str(tmp_path / "npm-cache"),
    }
    inspector = open_page(start_server(token=None, settings=settings))
    page = inspector.page
    other = page.get_by_role("button", name=re.compile("other Install"))
    expect(other).to_contain_text("Installs on first use")
    panel = inspector.panel("Agents")
    panel.get_by_role("article", name="other").get_by_role("button", name="Install").click()
    expect(other).not_to_contain_text("Installs on first use")

    dialog = dialog_of(inspector)
    dialog.get_by_role("radio", name=re.compile("^tiny")).check()
    expect(dialog.get_by_label("Directory")).not_to_have_value("")
    dialog.get_by_role("button", name="Create session").click()
    bar = dialog.get_by_role("progressbar")
    expect(dialog).to_contain_text(re.compile("Installing tiny: .+"))
    expect(bar).to_be_visible()
    expect(inspector.composer).to_be_visible()
    expect(dialog).to_have_count(0)


def test_a_new_user_has_a_first_answer_in_a_few_clicks(inspector: InspectorPage) -> None:
    """The journey of a new user: from the empty page to an answer with three clicks and one sentence."""
    page = inspector.page
    page.get_by_role("button", name="Mock").click()
    page.get_by_role("dialog").get_by_role("button", name="Create session").click()
    expect(inspector.composer).to_be_focused()
    page.keyboard.type("hello, what can you do?")
    page.keyboard.press("Enter")
    inspector.wait_for_turns(1)
    expect(inspector.conversation.locator(".message.assistant")).to_contain_text("hello, what can you do?")
