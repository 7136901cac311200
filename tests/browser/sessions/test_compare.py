"""Compare agents: worktrees, columns, the table, keeping one, removing the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.sessions.comparison import column, result, worktrees
from tests.support.git_repository import commit_files, git
from tests.support.polling import wait_until
from tests.support.server_process import ServerProcess

Open = Callable[..., InspectorPage]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit, an uncommitted change and a file that git does not track."""
    directory = commit_files(tmp_path / "a project", {"greeting.txt": "hello\nworld\n"})
    (directory / "greeting.txt").write_text("hello\nall the world\n")
    (directory / "notes.txt").write_text("not tracked\n")
    return directory


def start(page: InspectorPage, directory: Path, prompt: str, *, test: str = "", models: list[str]) -> None:
    """Start a comparison of the mock agent with itself, each time with another model."""
    page.page.goto(page.address("/ui/compare"))
    form = page.page.get_by_role("region", name="Compare agents")
    form.get_by_label("Directory").fill(str(directory))
    form.get_by_label("Prompt").fill(prompt)
    form.get_by_label("Test command").fill(test)
    for number, model in enumerate(models, 1):
        if number > 2:
            form.get_by_role("button", name="Add a candidate").click()
        form.get_by_label(f"Agent {number}").select_option("mock")
        if model:
            form.locator(".compare-candidate").nth(number - 1).get_by_label("Model").select_option(model)
    form.get_by_role("button", name="Start", exact=True).click()
    page.page.wait_for_url(re.compile(r"/ui/compare/[0-9a-f]+"))


@pytest.mark.clause("inspector-compare")
def test_agents_are_compared_and_one_is_kept(inspector: InspectorPage, repository: Path) -> None:
    start(inspector, repository, "permission", test="grep -q two new.txt", models=["", "mock-fast"])
    first, second = wait_for_worktrees(repository, 2)
    assert (first / "greeting.txt").read_text() == "hello\nall the world\n"
    assert not (first / "notes.txt").exists()
    # The mock agent changes no files: while it waits, the test does it in its place.
    for number, tree in enumerate((first, second), 1):
        expect(column(inspector, number).locator("form[data-state=pending]")).to_be_visible()
        (tree / "new.txt").write_text("one\n" if number == 1 else "one\ntwo\n")
        (tree / "greeting.txt").write_text(f"hello\nall the world\nof candidate {number}\n")
    git(second, "add", ".")
    git(second, "commit", "--quiet", "-m", "an agent may commit")
    for number in (1, 2):
        column(inspector, number).get_by_role("button", name="Allow once").click()
    expect(result(inspector, 1)).to_contain_text("2 files +2 -0")
    expect(result(inspector, 2)).to_contain_text("2 files +3 -0")
    expect(result(inspector, 1)).to_contain_text("failed (1)")
    expect(result(inspector, 2)).to_contain_text("passed")
    expect(result(inspector, 2)).to_contain_text("end turn")
    diffs = inspector.page.get_by_role("region", name="Diff against diff")
    expect(diffs.locator("[data-path='greeting.txt']")).to_contain_text("of candidate 1")
    expect(diffs.locator("[data-path='greeting.txt']")).to_contain_text("of candidate 2")

    inspector.page.reload()
    expect(column(inspector, 2)).to_contain_text("permission")
    expect(result(inspector, 2)).to_contain_text("2 files +3 -0")
    result(inspector, 2).get_by_role("button", name="Keep this one").click()
    expect(result(inspector, 2)).to_contain_text("kept")
    assert (repository / "new.txt").read_text() == "one\ntwo\n"
    assert (repository / "greeting.txt").read_text().endswith("of candidate 2\n")

    # The other one does not fit any more: nothing of it is applied.
    result(inspector, 1).get_by_role("button", name="Keep this one").click()
    refused = inspector.page.get_by_role("region", name="Results").get_by_role("alert")
    expect(refused).to_contain_text("These changes no longer fit; nothing was applied")
    expect(refused).to_contain_text("patch failed: greeting.txt")
    assert (repository / "new.txt").read_text() == "one\ntwo\n"
    assert (repository / "greeting.txt").read_text().endswith("of candidate 2\n")

    inspector.page.get_by_role("button", name="End all and remove the worktrees").click()
    inspector.page.get_by_role("button", name="Drop what was not kept?").click()
    expect(inspector.page.get_by_text("The worktrees of this comparison are removed")).to_be_visible()
    assert worktrees(repository) == []
    assert inspector.server.acp.list() == []
    assert git(repository, "status", "--porcelain", "--", ".sandbox-agent") == ""


def wait_for_worktrees(repository: Path, count: int) -> list[Path]:
    wait_until(lambda: len(worktrees(repository)) == count, 20, f"{count} worktrees")
    return worktrees(repository)


@pytest.mark.clause("inspector-compare")
def test_a_copied_repository_without_changes_is_compared(inspector: InspectorPage, repository: Path) -> None:
    git(repository, "checkout", "--quiet", "greeting.txt")
    # As after `cp -r` or in the layer of an image: the index has another time for each file.
    os.utime(repository / "greeting.txt", (0, 0))
    start(inspector, repository, "echo from a copy", models=["", ""])
    expect(result(inspector, 2)).to_contain_text("end turn")
    assert (worktrees(repository)[0] / "greeting.txt").read_text() == "hello\nworld\n"


@pytest.mark.clause("inspector-compare")
def test_columns_stream_side_by_side(inspector: InspectorPage, repository: Path) -> None:
    start(inspector, repository, "stream 60 50", models=["", "mock-fast", ""])
    for number in (1, 2, 3):
        expect(column(inspector, number).get_by_role("status", name="The agent is working")).to_be_visible()
    inspector.page.goto(inspector.address("/ui/"))
    inspector.page.go_back()
    for number in (1, 2, 3):
        expect(result(inspector, number)).to_contain_text("end turn")
        expect(result(inspector, number)).to_contain_text("0 files")
        expect(result(inspector, number).get_by_role("button", name="Keep this one")).to_be_disabled()
    result(inspector, 1).get_by_role("button", name="Open").click()
    inspector.page.wait_for_url(re.compile("/ui/sessions/"))
    expect(inspector.conversation).to_contain_text("stream 60 50")


@pytest.mark.clause("inspector-compare", "inspector-39")
def test_a_comparison_fits_on_a_phone(inspector: InspectorPage, repository: Path) -> None:
    start(inspector, repository, "echo small", models=["", ""])
    expect(result(inspector, 2)).to_contain_text("end turn")
    inspector.page.set_viewport_size({"width": 390, "height": 780})
    assert inspector.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep = result(inspector, 2).get_by_role("button", name="Keep this one")
    keep.scroll_into_view_if_needed()
    box = keep.bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
    results = inspector.page.get_by_role("region", name="Results")
    assert results.evaluate("one => one.querySelector('.compare-scroll').scrollWidth <= one.clientWidth")


@pytest.mark.clause("inspector-compare")
def test_abandoned_worktrees_are_listed_and_removed(inspector: InspectorPage, repository: Path) -> None:
    start(inspector, repository, "echo abandoned", models=["", ""])
    expect(result(inspector, 2)).to_contain_text("end turn")
    inspector.page.evaluate("localStorage.removeItem('sandbox-agent-inspector-comparisons')")
    inspector.page.goto(inspector.address("/ui/compare"))
    left = inspector.page.get_by_role("region", name="Worktrees of comparisons")
    expect(left.get_by_role("listitem")).to_have_count(2)
    for count in (1, 0):
        left.get_by_role("button", name="Remove").first.click()
        left.get_by_role("button", name="Drop its changes?").click()
        expect(left.get_by_role("listitem")).to_have_count(count)
    assert worktrees(repository) == []


@pytest.mark.clause("inspector-compare")
def test_the_page_says_what_a_comparison_needs(
    start_server: Callable[..., ServerProcess], open_page: Open, inspector: InspectorPage, tmp_path: Path
) -> None:
    plain = tmp_path / "no repository"
    plain.mkdir()
    inspector.page.goto(inspector.address("/ui/compare"))
    inspector.page.get_by_role("main").get_by_label("Directory").fill(str(plain))
    expect(inspector.page.get_by_text("A comparison needs a git repository")).to_be_visible()
    expect(inspector.page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
    without = start_server("off", token=None, settings={"SANDBOX_AGENT_PROCESSES": "off"})
    tab = open_page(without, "/ui/compare")
    tab.page.get_by_role("main").get_by_label("Directory").fill(str(plain))
    expect(tab.page.get_by_text("Processes are switched off")).to_be_visible()
    expect(tab.page.get_by_role("button", name="Start", exact=True)).to_be_disabled()
