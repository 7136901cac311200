"""The tree of files: unfolded in place, renamed, downloaded as a folder, live."""

from __future__ import annotations

import base64
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.handed_over_files import PNG, hand_over
from tests.browser.inspector_page import InspectorPage


@pytest.mark.clause("inspector-files", "inspector-34")
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


@pytest.mark.clause("inspector-files", "inspector-34")
def test_files_are_previewed_by_their_kind_dropped_and_listed_to_the_last(inspector: InspectorPage) -> None:
    page = inspector.page
    folder = inspector.server.home / "kinds"
    folder.mkdir()
    (folder / "picture.png").write_bytes(base64.b64decode(PNG))
    (folder / "table.csv").write_text('name,words\n"Ada","a, b"\n')
    (folder / "text.md").write_text("# A heading\n\n**bold**\n")
    (folder / "bytes.bin").write_bytes(b"\x00\x01binary")
    (folder / "large.log").write_text("first line\n" + "x" * 1_500_000)
    for number in range(230):
        (folder / f"z{number:03}").touch()
    panel = inspector.panel("Files")
    field = panel.get_by_label("Directory")
    expect(field).not_to_have_value("")
    field.fill(str(folder))
    field.press("Enter")

    def look(name: str) -> None:
        back = panel.get_by_role("button", name="Back")
        if back.count():
            back.click()
        panel.get_by_role("button", name=name, exact=True).click()

    look("picture.png")
    expect(panel.locator("img.picture")).to_be_visible()
    look("table.csv")
    expect(panel.get_by_role("columnheader")).to_have_text(["name", "words"])
    expect(panel.get_by_role("cell").last).to_have_text("a, b")
    look("text.md")
    expect(panel.locator("strong")).to_have_text("bold")
    panel.get_by_role("button", name="Edit").click()
    expect(panel.get_by_label("File content")).to_have_value("# A heading\n\n**bold**\n")
    look("bytes.bin")
    dump = panel.get_by_label("First bytes")
    expect(dump).to_contain_text("00 01 62 69 6e")
    assert dump.evaluate("one => one.scrollWidth <= one.clientWidth"), "a row of bytes fits into the panel"
    expect(panel.get_by_role("button", name="Save")).to_have_count(0)
    look("large.log")
    expect(panel).to_contain_text("The first megabyte")
    text = panel.get_by_label("File content")
    assert text.input_value().startswith("first line\n") and not text.is_editable()
    with page.expect_download() as download:
        panel.get_by_role("button", name="Download").click()
    assert Path(download.value.path()).stat().st_size == 1_500_011
    panel.get_by_role("button", name="Back").click()
    panel.get_by_role("button", name="35 more entries").click()
    expect(panel.get_by_role("button", name="z229", exact=True)).to_be_visible()
    hand_over(panel.locator(".panel"), "drop", "text/plain", "dropped.txt", "YQ==")
    expect(panel.get_by_role("button", name="dropped.txt", exact=True)).to_be_visible()
    assert (folder / "dropped.txt").read_text() == "a"
