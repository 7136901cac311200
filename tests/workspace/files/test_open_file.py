"""Open files: special files are refused, files without a size are read whole, ETags follow the content."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.open_file import OpenFile
from sandbox_agent.workspace.files.workspace import Workspace


def test_special_files_are_refused_without_opening_them(workspace: Workspace, home: Path) -> None:
    os.mkfifo(home / "fifo")
    (home / "to-fifo").symlink_to("fifo")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home / "socket"))
    (home / "d").mkdir()
    try:
        for path in ("fifo", "to-fifo", "socket", "d", "/dev/null", "/dev/tty"):
            with pytest.raises(InvalidRequest, match="path is not a file"):
                OpenFile(workspace, path).open()
    finally:
        listener.close()


def test_a_file_of_the_process_file_system_is_read_to_its_end(workspace: Workspace) -> None:
    file = OpenFile(workspace, "/proc/self/status")
    try:
        assert b"VmRSS" in file.open_and_read(1 << 16)
        assert file.size == 0
    finally:
        file.close()


def test_the_etag_follows_the_content(workspace: Workspace, home: Path) -> None:
    def etag() -> str:
        file = OpenFile(workspace, "f")
        file.open()
        file.close()
        return file.etag

    (home / "f").write_bytes(b"one")
    first = etag()
    assert etag() == first
    (home / "g").write_bytes(b"two")
    (home / "g").rename(home / "f")
    assert etag() != first
