"""The panels Agents, Files, MCP, Skills and Requests; effects are also checked through the API."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-panels")
def test_agents_show_their_state_and_install_with_progress(inspector: InspectorPage) -> None:
    panel = inspector.panel("Agents")
    mock = panel.get_by_role("article", name="Mock")
    expect(mock).to_contain_text("builtin")
    expect(mock.get_by_role("list", name="Capabilities").locator("li.has")).to_have_count(17)
    mock.get_by_role("button", name="Reinstall").click()
    expect(mock.locator("p.good-text")).to_be_visible()
    claude = panel.get_by_role("article", name="Claude Code", exact=True)
    expect(claude).to_contain_text("not installed")
    expect(claude).to_contain_text("no credentials")


@pytest.mark.clause("inspector-panels")
def test_files_are_walked_uploaded_edited_downloaded_and_deleted(
    inspector: InspectorPage, tmp_path: Path
) -> None:
    home = inspector.server.home
    (home / "walk").mkdir(exist_ok=True)
    upload = tmp_path / "upload.txt"
    upload.write_text("first version")
    panel = inspector.panel("Files")
    panel.get_by_role("button", name="walk", exact=True).click()
    expect(panel.get_by_text("This folder is empty")).to_be_visible()
    panel.get_by_label("Upload files").set_input_files(upload)
    panel.get_by_role("button", name="upload.txt", exact=True).click()
    text = panel.get_by_label("File content")
    expect(text).to_have_value("first version")
    text.fill("second version")
    panel.get_by_role("button", name="Save").click()
    expect(panel.get_by_text("Saved.")).to_be_visible()
    assert (home / "walk" / "upload.txt").read_text() == "second version"
    panel.get_by_role("button", name="Back").click()
    with inspector.page.expect_download() as download:
        panel.get_by_role("button", name="Download upload.txt").click()
    assert Path(download.value.path()).read_text() == "second version"
    inspector.page.once("dialog", lambda dialog: dialog.accept())
    panel.get_by_role("button", name="Delete upload.txt").click()
    expect(panel.get_by_text("This folder is empty")).to_be_visible()
    assert not (home / "walk" / "upload.txt").exists()


def test_a_missing_folder_is_explained(inspector: InspectorPage) -> None:
    panel = inspector.panel("Files")
    panel.get_by_label("Directory").fill(str(inspector.server.home / "nowhere"))
    panel.get_by_label("Directory").press("Enter")
    expect(panel.get_by_role("alert")).to_contain_text("not found")


def test_a_directory_that_is_typed_while_the_page_asks_for_home_stays(inspector: InspectorPage) -> None:
    asked: list[Route] = []
    inspector.page.route("**/v1/fs/stat?**", lambda question: asked.append(question))
    panel = inspector.panel("MCP")
    field = panel.get_by_label("Directory")
    expect(field).to_have_value("")
    field.fill("/typed")
    assert asked, "the page has asked for home"
    with inspector.page.expect_response("**/v1/fs/stat?**"):
        for question in asked:
            question.continue_()
    inspector.page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(field).to_have_value("/typed")
    inspector.page.unroute("**/v1/fs/stat?**")


def test_typing_replaces_a_home_that_arrives_in_the_focused_field(inspector: InspectorPage) -> None:
    asked: list[Route] = []
    inspector.page.route("**/v1/fs/stat?**", lambda question: asked.append(question))
    field = inspector.panel("MCP").get_by_label("Directory")
    field.focus()
    assert asked, "the page has asked for home"
    for question in asked:
        question.continue_()
    expect(field).not_to_have_value("")
    inspector.page.keyboard.insert_text("/typed")
    expect(field).to_have_value("/typed")
    inspector.page.unroute("**/v1/fs/stat?**")


@pytest.mark.clause("inspector-panels")
def test_skills_are_added_and_removed(inspector: InspectorPage) -> None:
    directory = inspector.server.home / "skills-panel"
    directory.mkdir(exist_ok=True)
    panel = inspector.panel("Skills")
    panel.get_by_label("Directory").fill(str(directory))
    form = panel.get_by_role("form", name="Add a skill")
    form.get_by_label("Name", exact=True).fill("review")
    form.get_by_label("Source").fill("owner/skills")
    form.get_by_label("Only these skills").fill("one, two")
    form.get_by_role("button", name="Add skill").click()
    expect(panel.get_by_role("button", name="review", exact=True)).to_be_visible()
    stored = json.loads((directory / ".sandbox-agent" / "config" / "skills.json").read_text())
    source = {"type": "github", "source": "owner/skills", "skills": ["one", "two"]}
    assert stored == {"review": {"sources": [source]}}
    panel.get_by_role("button", name="Remove review").click()
    panel.get_by_role("button", name="Remove review?").click()
    expect(panel.get_by_text("Nothing configured")).to_be_visible()


@pytest.mark.clause("inspector-panels")
def test_a_request_copied_as_curl_and_as_python_runs(inspector: InspectorPage) -> None:
    directory = inspector.server.home / "copied"
    files = inspector.panel("Files")
    files.get_by_role("button", name="New folder").wait_for()
    inspector.page.once("dialog", lambda dialog: dialog.accept("copied"))
    files.get_by_role("button", name="New folder").click()
    expect(files.get_by_role("button", name="copied", exact=True)).to_be_visible()
    directory.rmdir()
    panel = inspector.panel("Requests")
    panel.get_by_role("button", name="/v1/fs/mkdir").click()
    panel.get_by_role("button", name="Copy as curl").click()
    curl = inspector.page.evaluate("navigator.clipboard.readText()")
    assert curl.startswith("curl -X POST 'http://127.0.0.1:")
    assert "/v1/fs/mkdir?path=" in curl
    panel.get_by_role("button", name="Copy as Python").click()
    program = inspector.page.evaluate("navigator.clipboard.readText()")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.startswith("200"), done.stderr
    assert directory.is_dir()
