"""A directory as a tar stream."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest, NotFound
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.tar.writer import archive


def packed(workspace: Workspace, path: str) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(b"".join(archive(workspace, path, ProgressToken()))))


@pytest.mark.clause("files-download")
def test_names_are_relative_and_links_stay_links(workspace: Workspace, home: Path) -> None:
    (home / "d/e").mkdir(parents=True)
    (home / "d/e/f").write_bytes(b"F" * 700)
    os.chmod(home / "d/e/f", 0o4740)
    (home / "d/link").symlink_to("/etc/passwd")
    os.mkfifo(home / "d/fifo")
    with packed(workspace, "d") as found:
        assert sorted(found.getnames()) == ["e", "e/f", "link"]
        assert found.getmember("e/f").mode == 0o740
        assert found.extractfile("e/f").read() == b"F" * 700  # type: ignore[union-attr]  # it is a file
        assert found.getmember("link").linkname == "/etc/passwd"


def test_a_single_file_is_an_archive_of_one(workspace: Workspace, home: Path) -> None:
    (home / "f").write_bytes(b"one")
    with packed(workspace, "f") as found:
        assert found.getnames() == ["f"]


def test_what_cannot_be_packed_is_reported_at_the_first_step(workspace: Workspace, home: Path) -> None:
    os.mkfifo(home / "fifo")
    with pytest.raises(InvalidRequest):
        next(archive(workspace, "fifo", ProgressToken()))
    with pytest.raises(NotFound):
        next(archive(workspace, "missing", ProgressToken()))


def test_a_file_that_shrinks_meanwhile_is_filled_up(workspace: Workspace, home: Path) -> None:
    (home / "d").mkdir()
    (home / "d/f").write_bytes(b"x" * (1 << 20))
    pieces = archive(workspace, "d", ProgressToken())
    data = [next(pieces), next(pieces), next(pieces)]
    os.truncate(home / "d/f", 1000)
    data += pieces
    with tarfile.open(fileobj=io.BytesIO(b"".join(data))) as found:
        assert found.getmember("f").size == 1 << 20
