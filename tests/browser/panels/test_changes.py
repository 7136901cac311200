"""The Changes panel follows a repository while files in it change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.inspector_page import InspectorPage
from tests.support.git_repository import commit_files, git
from tests.support.server_process import ServerProcess

SUM = {"sum.py": "def total(items):\n    return 0\n"}


def show(inspector: InspectorPage, directory: Path) -> Locator:
    panel = inspector.panel("Changes")
    field = panel.get_by_label("Directory")
    expect(field).not_to_have_value("")
    field.fill(str(directory))
    panel.get_by_role("button", name="Show").click()
    return panel


@pytest.mark.clause("inspector-changes")
def test_a_change_appears_by_itself_unified_and_side_by_side(inspector: InspectorPage) -> None:
    directory = commit_files(inspector.server.home / "followed", SUM)
    panel = show(inspector, directory)
    expect(panel.get_by_text("Nothing has changed since the last commit")).to_be_visible()
    expect(panel.get_by_text("live", exact=True)).to_be_visible()

    (directory / "sum.py").write_text("def total(items):\n    return sum(items)\n")
    (directory / "deep").mkdir()
    (directory / "deep" / "note.txt").write_text("new\n")
    changed = panel.locator("[data-path='sum.py']")
    expect(changed.locator("tr.added")).to_contain_text("return sum(items)")
    expect(changed.locator("tr.removed")).to_contain_text("return 0")
    expect(changed.locator("summary")).to_contain_text("changed just now")
    expect(panel.locator("[data-path='deep/note.txt']")).to_contain_text("untracked")

    panel.get_by_role("button", name="Side by side").click()
    row = changed.locator("table.split tr", has_text="return 0")
    expect(row).to_contain_text("return sum(items)")

    git(directory, "checkout", "-q", "sum.py")
    expect(changed).to_have_count(0)


@pytest.mark.clause("inspector-changes")
def test_a_directory_without_a_repository_is_explained(inspector: InspectorPage) -> None:
    plain = inspector.server.home / "plain"
    plain.mkdir()
    expect(show(inspector, plain).get_by_text("No git repository here")).to_be_visible()


@pytest.mark.clause("inspector-changes")
def test_switched_off_parts_are_named(
    start_server: Callable[..., ServerProcess], open_page: Callable[..., InspectorPage]
) -> None:
    unwatched = open_page(start_server("unwatched", token=None, arguments=["--fs-watch", "off"]))
    directory = commit_files(unwatched.server.home / "unwatched", SUM)
    panel = show(unwatched, directory)
    expect(panel.get_by_text("--fs-watch off")).to_be_visible()
    (directory / "later.txt").write_text("later\n")
    panel.get_by_role("button", name="Read again").click()
    expect(panel.locator("[data-path='later.txt']")).to_be_visible()

    without_git = open_page(start_server("no-git", token=None, arguments=["--git", "off"]))
    expect(show(without_git, without_git.server.home).get_by_text("--git off")).to_be_visible()


@pytest.mark.clause("inspector-changes")
def test_many_changed_files_keep_their_height(inspector: InspectorPage) -> None:
    directory = commit_files(inspector.server.home / "many", SUM)
    for number in range(40):
        (directory / f"file{number:02}.txt").write_text("a\nb\nc\n")
    changes = show(inspector, directory).locator(".file-change")
    expect(changes).to_have_count(40)
    expect(changes.last.locator(".patch")).to_be_attached()
    cut = "all => all.filter(one => one.scrollHeight > one.clientHeight + 1).length"
    assert changes.evaluate_all(cut) == 0
