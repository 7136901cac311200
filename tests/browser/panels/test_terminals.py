"""The Terminal and Processes panels with real shells and commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess


@pytest.fixture
def token_page(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage]
) -> Iterator[InspectorPage]:
    """A server with a token: the page object reports every address that contains it."""
    yield open_page(start_server(token="a-secret"), "/ui/#token=a-secret")


def new_terminal(inspector: InspectorPage) -> Locator:
    panel = inspector.panel("Terminal")
    panel.get_by_role("button", name="New terminal").click()
    expect(panel.get_by_text("open", exact=True)).to_be_visible()
    return panel


def type_line(inspector: InspectorPage, line: str) -> None:
    inspector.page.get_by_role("textbox", name=re.compile("^Terminal proc_")).focus()
    inspector.page.keyboard.type(line)
    inspector.page.keyboard.press("Enter")


@pytest.mark.clause("inspector-terminal")
def test_a_shell_takes_input_shows_colours_and_is_there_after_a_reload(token_page: InspectorPage) -> None:
    panel = new_terminal(token_page)
    rows = panel.locator(".xterm-rows")
    type_line(token_page, "printf '\\033[38;2;10;20;30mcolour-%s\\033[0m\\n' $((40+2))")
    expect(rows).to_contain_text("colour-42")
    coloured = rows.locator("span", has_text="colour-42").last
    assert coloured.evaluate("one => one.style.color") != ""

    type_line(token_page, "MARK=kept")
    token_page.page.reload()
    panel = token_page.panel("Terminal")
    expect(panel.locator(".xterm-rows")).to_contain_text("colour-42")
    expect(panel.get_by_text("open", exact=True)).to_be_visible()
    type_line(token_page, "echo still-$MARK")
    expect(panel.locator(".xterm-rows")).to_contain_text("still-kept")


@pytest.mark.clause("inspector-terminal")
def test_what_is_typed_before_the_connection_is_there_reaches_the_shell(token_page: InspectorPage) -> None:
    held: list[Route] = []
    token_page.page.route("**/v1/processes/*/logs*", lambda route: held.append(route))
    panel = token_page.panel("Terminal")
    with token_page.page.expect_request("**/v1/processes/*/logs*"):
        panel.get_by_role("button", name="New terminal").click()
    type_line(token_page, "echo early-$((40+2))")
    expect(panel.get_by_text("open", exact=True)).to_be_hidden()
    for request in held:
        request.continue_()
    expect(panel.locator(".xterm-rows")).to_contain_text("early-42")


@pytest.mark.clause("inspector-terminal")
def test_a_terminal_has_the_size_of_its_panel_and_can_be_searched_and_copied(
    token_page: InspectorPage,
) -> None:
    panel = new_terminal(token_page)
    rows = panel.locator(".xterm-rows")

    def columns(mark: str) -> int:
        type_line(token_page, f"echo {mark}-$(stty size | cut -d' ' -f2)-")
        expect(rows).to_contain_text(re.compile(mark + r"-\d+-"))
        return int(re.findall(mark + r"-(\d+)-", rows.inner_text())[-1])

    wide = columns("first")
    token_page.page.set_viewport_size({"width": 1000, "height": 700})
    expect(panel.get_by_text("open", exact=True)).to_be_visible()
    token_page.page.wait_for_function("() => document.querySelector('.xterm-rows').children.length < 40")
    assert columns("second") != wide

    search = panel.get_by_label("Search the output")
    search.fill("first-")
    expect(search).to_have_attribute("aria-invalid", "false")
    search.fill("nowhere at all")
    expect(panel.get_by_text("Not found")).to_be_visible()
    search.fill("second-")
    panel.get_by_role("button", name="Copy the selection").click()
    assert token_page.page.evaluate("navigator.clipboard.readText()") == "second-"


@pytest.mark.clause("inspector-terminal")
def test_an_editor_is_still_on_the_screen_after_a_reload(token_page: InspectorPage, tmp_path: Path) -> None:
    panel = new_terminal(token_page)
    file = tmp_path / "notes.txt"
    type_line(token_page, f"vim -u NONE -N {file}; echo back-$((1+1))")
    expect(panel.locator(".xterm-rows")).to_contain_text("notes.txt")
    type_line(token_page, "ifirst line")
    expect(panel.locator(".xterm-rows")).to_contain_text("first line")
    token_page.page.reload()
    panel = token_page.panel("Terminal")
    rows = panel.locator(".xterm-rows")
    expect(rows).to_contain_text("first line")
    expect(panel.get_by_text("open", exact=True)).to_be_visible()
    type_line(token_page, "second line")
    expect(rows).to_contain_text("second line")
    token_page.page.keyboard.press("Escape")
    type_line(token_page, ":wq")
    expect(rows).to_contain_text("back-2")
    expect(rows).not_to_contain_text("second line")
    assert file.read_text() == "first line\nsecond line\n\n"


@pytest.mark.clause("inspector-terminal")
def test_several_terminals_are_independent_and_end_with_their_processes(token_page: InspectorPage) -> None:
    panel = new_terminal(token_page)
    type_line(token_page, "echo in-the-first")
    expect(panel.locator(".xterm-rows")).to_contain_text("in-the-first")
    panel.get_by_role("button", name="New terminal").click()
    expect(panel.get_by_role("button", name="#2")).to_have_attribute("aria-pressed", "true")
    expect(panel.locator(".xterm-rows")).not_to_contain_text("in-the-first")
    expect(panel.get_by_text("open", exact=True)).to_be_visible()
    type_line(token_page, "exit 3")
    expect(panel.locator(".xterm-rows")).to_contain_text("[ended with code 3]")
    panel.get_by_role("button", name="#1").click()
    expect(panel.locator(".xterm-rows")).to_contain_text("in-the-first")
    token_page.page.once("dialog", lambda dialog: dialog.accept())
    panel.get_by_role("button", name="End", exact=True).click()
    expect(panel.get_by_role("button", name="#1")).to_have_count(0)


@pytest.mark.clause("inspector-processes")
def test_a_command_is_run_followed_stopped_and_removed(token_page: InspectorPage) -> None:
    panel = token_page.panel("Processes")
    panel.get_by_label("Command").fill("echo begun; echo to-stderr >&2; exec sleep 600")
    panel.get_by_role("button", name="Run").click()
    expect(panel.locator(".xterm-rows")).to_contain_text("begun")
    expect(panel.locator(".xterm-rows")).to_contain_text("to-stderr")
    panel.get_by_role("button", name="Back to the list").click()
    row = panel.locator("[data-process=proc_1]")
    expect(row).to_have_attribute("data-status", "running")
    row.get_by_role("button", name="Stop").click()
    expect(row).to_contain_text("ended by SIGTERM")
    row.get_by_role("button", name="Output").click()
    expect(panel.locator(".xterm-rows")).to_contain_text("[ended by SIGTERM]")
    panel.get_by_role("button", name="Back to the list").click()
    row.get_by_role("button", name="Remove").click()
    expect(panel.get_by_text("No process was started")).to_be_visible()


@pytest.mark.clause("inspector-processes")
def test_a_server_without_processes_says_so(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage]
) -> None:
    inspector = open_page(start_server(token=None, arguments=["--processes", "off"]))
    expect(inspector.panel("Terminal").get_by_text("Processes are switched off")).to_be_visible()
    expect(inspector.panel("Processes").get_by_text("Processes are switched off")).to_be_visible()
