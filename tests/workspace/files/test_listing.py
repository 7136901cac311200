"""stat and listings: links, unusual names and times, batches."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec
import pytest

from sandbox_agent.errors import InvalidRequest, NotFound
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.bodies import FsEntry
from sandbox_agent.workspace.files.file_metadata import modified_text
from sandbox_agent.workspace.files.listing import BATCH, entries, stat
from sandbox_agent.workspace.files.workspace import Workspace


def listed(workspace: Workspace, path: str) -> dict[str, FsEntry]:
    return {entry.name: entry for batch in entries(workspace, path, ProgressToken()) for entry in batch}


@pytest.mark.clause("files-links-and-entries")
def test_entries_say_type_size_time_link_and_mode(workspace: Workspace, home: Path) -> None:
    (home / "f").write_bytes(b"12345")
    os.chmod(home / "f", 0o640)
    os.utime(home / "f", ns=(1, 1_700_000_000_123_456_789))
    (home / "d").mkdir()
    (home / "to-d").symlink_to("d")
    (home / "dangling").symlink_to("nowhere")
    os.mkfifo(home / "fifo")
    found = listed(workspace, "")
    assert found["f"] == FsEntry(
        name="f",
        path=f"{home}/f",
        entry_type="file",
        size=5,
        modified="2023-11-14T22:13:20.123456789+00:00",
        symlink=False,
        mode="0640",
    )
    assert found["d"].entry_type == "directory"
    assert [(found[n].entry_type, found[n].symlink) for n in ("to-d", "dangling", "fifo")] == [
        ("file", True),
        ("file", True),
        ("file", False),
    ]


@pytest.mark.clause("files-links-and-entries")
def test_stat_follows_links_and_says_so(workspace: Workspace, home: Path) -> None:
    (home / "d").mkdir()
    (home / "link").symlink_to("d")
    found = stat(workspace, "link")
    assert (found.entry_type, found.symlink, found.path) == ("directory", True, f"{home}/link")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}\+00:00", str(found.modified))
    (home / "dangling").symlink_to("nowhere")
    with pytest.raises(NotFound) as missing:
        stat(workspace, "dangling")
    assert missing.value.extensions == {"details": {"resource": "path", "id": f"{home}/dangling"}}


def test_a_name_that_is_not_utf8_is_still_listed(workspace: Workspace, home: Path) -> None:
    os.close(os.open(os.fsencode(home) + b"/\xff", os.O_CREAT))
    assert "\ufffd" in listed(workspace, "")


def test_a_time_no_calendar_holds_is_left_out(workspace: Workspace, home: Path) -> None:
    (home / "f").write_bytes(b"")
    os.utime(home / "f", (0, -(1 << 31)))
    assert str(stat(workspace, "f").modified).startswith("1901-12-13")
    far = type("Far", (), {"st_mtime_ns": 1 << 70})()
    assert modified_text(far) is msgspec.UNSET


def test_listing_comes_in_batches(workspace: Workspace, home: Path) -> None:
    for number in range(BATCH + 5):
        (home / f"{number}").touch()
    batches = [len(batch) for batch in entries(workspace, "", ProgressToken())]
    assert batches == [BATCH, 5]


def test_listing_a_file_is_refused(workspace: Workspace, home: Path) -> None:
    (home / "f").touch()
    with pytest.raises(InvalidRequest, match=r"path is not a directory: .*/f$"):
        listed(workspace, "f")
    with pytest.raises(InvalidRequest, match="not a directory"):
        listed(workspace, "f/below")
