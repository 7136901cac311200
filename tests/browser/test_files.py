"""The tree of files: unfolded in place, renamed, downloaded as a folder, live."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-files")
def test_folders_unfold_in_place_and_follow_what_the_agent_writes(
    inspector: InspectorPage, tmp_path: Path
) -> None:
    project = inspector.server.home / "tree"
    (project / "src" / "deep").mkdir(parents=True)
    (project / "src" / "deep" / "one.txt").write_text("one")
    panel = inspector.panel("Files")
    field = panel.get_by_label("Directory")
    expect(field).not_to_have_value("")
    field.fill(str(project))
    field.press("Enter")
    panel.get_by_role("button", name="Unfold src").click()
    panel.get_by_role("button", name="Unfold deep").click()
    expect(panel.get_by_role("button", name="one.txt", exact=True)).to_be_visible()
    expect(panel.get_by_text("live", exact=True)).to_be_visible()

    (project / "src" / "deep" / "two.txt").write_text("two")
    expect(panel.get_by_role("button", name="two.txt", exact=True)).to_be_visible(timeout=3000)

    inspector.page.once("dialog", lambda dialog: dialog.accept("renamed.txt"))
    panel.get_by_role("button", name="Rename one.txt").click()
    expect(panel.get_by_role("button", name="renamed.txt", exact=True)).to_be_visible()
    assert (project / "src" / "deep" / "renamed.txt").read_text() == "one"

    with inspector.page.expect_download() as download:
        panel.get_by_role("button", name="Download src").click()
    archive = tmp_path / "src.tar"
    download.value.save_as(archive)
    with tarfile.open(archive) as tar:
        assert any(name.endswith("deep/renamed.txt") for name in tar.getnames())
    panel.get_by_role("button", name="Unfold src").click()
    expect(panel.get_by_role("button", name="renamed.txt", exact=True)).to_have_count(0)
