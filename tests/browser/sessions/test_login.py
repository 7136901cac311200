"""Agents that want a login before they open a session."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from sandbox_agent.login_methods import KEY_LOGINS
from tests.browser.axe import serious_findings
from tests.browser.conftest import PLAYED_AGENT
from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

LOGIN_SOURCE = Path(__file__).parents[3] / "inspector" / "src" / "session" / "login.ts"


@pytest.fixture
def open_with_logins(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage], tmp_path: Path
) -> Callable[[str], InspectorPage]:
    """Opens the page on a server whose only agent offers these login methods."""

    def opened(logins: str) -> InspectorPage:
        agents = tmp_path / "agents.toml"
        arguments = f'["-S", "{PLAYED_AGENT}", "--logins", "{logins}"]'
        agents.write_text(
            f'[[agent]]\nid = "guarded"\nname = "Guarded"\ncommand = "{sys.executable}"\nargs = {arguments}\n'
        )
        return open_page(start_server(token=None, settings={"SANDBOX_AGENT_AGENTS_FILE": str(agents)}))

    return opened


def create(inspector: InspectorPage) -> Locator:
    inspector.page.get_by_role("button", name="New", exact=True).click()
    dialog = inspector.page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name=re.compile("^Guarded")).check()
    expect(dialog.get_by_label("Directory")).not_to_have_value("")
    dialog.get_by_role("button", name="Create session").click()
    return dialog


@pytest.mark.clause("inspector-13")
def test_a_key_is_confirmed_before_the_first_session_and_after_a_resume(
    open_with_logins: Callable[[str], InspectorPage],
) -> None:
    inspector = open_with_logins("browser-login,openai-api-key")
    expect(create(inspector)).to_have_count(0)
    inspector.say_and_wait("hello")
    expect(inspector.conversation).to_contain_text("received text")
    expect(inspector.conversation).not_to_contain_text("Authentication required")
    expect(inspector.page.get_by_role("region", name="Login of the agent")).to_have_count(0)

    (running,) = inspector.server.acp.list()
    inspector.server.acp.delete(running["serverId"])
    inspector.page.get_by_role("button", name="Resume").first.click()
    inspector.say("hello again")
    inspector.wait_for_turns(2)
    expect(inspector.conversation.get_by_text("received text")).to_have_count(2)


@pytest.mark.clause("inspector-13")
def test_the_user_chooses_a_login_in_the_dialog_and_may_choose_again(
    open_with_logins: Callable[[str], InspectorPage],
) -> None:
    inspector = open_with_logins("vendor-account,browser-login")
    dialog = create(inspector)
    choice = dialog.get_by_role("group", name="The agent wants a login")
    expect(choice).to_contain_text("Authentication required")
    assert "login-choice" not in str(serious_findings(inspector))
    choice.get_by_role("button", name="Log in with vendor-account").click()
    expect(choice).to_contain_text("This login does not work")
    choice.get_by_role("button", name="Log in with browser-login").click()
    expect(dialog).to_have_count(0)
    inspector.say_and_wait("hello")
    expect(inspector.conversation).to_contain_text("received text")


def test_a_dialog_that_is_closed_instead_of_logging_in_leaves_no_process(
    open_with_logins: Callable[[str], InspectorPage],
) -> None:
    inspector = open_with_logins("browser-login")
    dialog = create(inspector)
    expect(dialog.get_by_role("group", name="The agent wants a login")).to_be_visible()
    with inspector.page.expect_response(lambda response: response.request.method == "DELETE"):
        dialog.get_by_role("button", name="Cancel").click()
    assert inspector.server.acp.list() == []


def test_the_page_and_the_sdk_confirm_the_same_keys() -> None:
    (found,) = re.findall(r"KEY_LOGINS = \[(.*?)\]", LOGIN_SOURCE.read_text(), re.DOTALL)
    assert tuple(re.findall(r'"([^"]+)"', found)) == KEY_LOGINS
