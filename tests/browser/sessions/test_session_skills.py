"""The skills of a directory's config in sessions of the page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.inspector_page import InspectorPage

SKILL = "---\nname: notes\ndescription: How notes are written\n---\nOne line each.\n"


@pytest.fixture
def directory(inspector: InspectorPage) -> Iterator[Path]:
    """A directory with one configured skill."""
    directory = inspector.server.home / "with-skills"
    folder = directory / "tools" / "skills" / "notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    configure(directory, "tools")
    yield directory
    shutil.rmtree(directory)


def configure(directory: Path, source: str) -> None:
    config = directory / ".sandbox-agent" / "config" / "skills.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"ours": {"sources": [{"type": "local", "source": source}]}}))


def open_dialog(inspector: InspectorPage, agent: str, directory: Path) -> Locator:
    inspector.page.get_by_role("button", name="New", exact=True).click()
    dialog = inspector.page.get_by_role("dialog", name="New session")
    dialog.get_by_role("radio", name=re.compile(f"^{agent}")).check()
    expect(dialog.get_by_label("Directory")).not_to_have_value("")
    dialog.get_by_label("Directory").fill(str(directory))
    return dialog


@pytest.mark.clause("inspector-skills")
def test_configured_skills_are_there_while_the_session_runs(
    inspector: InspectorPage, directory: Path
) -> None:
    page, installed = inspector.page, directory / ".agents" / "skills" / "notes" / "SKILL.md"
    dialog = open_dialog(inspector, "Mock", directory)
    expect(dialog.get_by_label("Give it the skills of this directory: ours")).to_be_checked()
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog).to_have_count(0)
    assert installed.read_text() == SKILL
    inspector.say_and_wait("hello")
    page.get_by_role("button", name="End", exact=True).click()
    with page.expect_response("**/v1/processes/run"):
        page.get_by_role("button", name="End the process?").click()
    assert not (directory / ".agents").exists()
    page.get_by_role("button", name="Resume").first.click()
    inspector.say("hello again")
    inspector.wait_for_turns(2)
    assert installed.read_text() == SKILL


@pytest.mark.clause("inspector-skills")
def test_a_session_without_skills_leaves_the_directory_as_it_is(
    inspector: InspectorPage, directory: Path
) -> None:
    dialog = open_dialog(inspector, "Mock", directory)
    dialog.get_by_label("Give it the skills of this directory: ours").uncheck()
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog).to_have_count(0)
    assert not (directory / ".agents").exists()


@pytest.mark.clause("inspector-skills")
def test_a_source_that_cannot_be_fetched_is_named_and_no_session_is_created(
    inspector: InspectorPage, directory: Path
) -> None:
    configure(directory, "missing")
    dialog = open_dialog(inspector, "Mock", directory)
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog.get_by_role("alert")).to_contain_text("missing")
    assert inspector.server.acp.list() == []


@pytest.mark.clause("inspector-skills")
def test_an_agent_without_a_place_for_skills_says_so(inspector: InspectorPage, directory: Path) -> None:
    dialog = open_dialog(inspector, "Played Agent", directory)
    expect(dialog).to_contain_text("The skills of this directory are left out")
    dialog.get_by_role("button", name="Create session").click()
    expect(dialog).to_have_count(0)
    assert not (directory / ".agents").exists()
