"""A server removes the spill of killed servers at its start, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.spill import Spill
from sandbox_agent.bridge.eventlog.spill_directory import SpillDirectory


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    parent = tmp_path / "data" / "spill"
    parent.mkdir(parents=True)
    return parent


def dead_pid() -> int:
    child = subprocess.Popen(["/bin/true"])
    child.wait()
    return child.pid


def name_of_a_killed_server() -> str:
    return f"{dead_pid()}-{os.urandom(4).hex()}"


def filled(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True)
    for name in names:
        (directory / name).write_text("content")
    return directory


def files_below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.clause("security-start-deletes-only-its-own")
@pytest.mark.parametrize("locked", [False, True])
def test_what_a_killed_server_left_is_removed(parent: Path, locked: bool) -> None:
    left = filled(parent / name_of_a_killed_server(), *(["lock"] if locked else []))
    spill = Spill(str(left), "12", 1 << 20)
    assert spill.append([sse_frames.encode(1, [b"{}"])], 1)
    assert files_below(left) - {"lock"}
    own = SpillDirectory(str(parent))
    own.claim()
    assert os.listdir(parent) == [os.path.basename(own.own)]
    own.remove()
    assert os.listdir(parent) == []


@pytest.mark.clause("security-start-deletes-only-its-own")
@pytest.mark.parametrize(
    "name", ["photos", "old", "17", "-", "12-", "-0a1b2c3d", "12-0A1B2C3D", "12-0a1b2c3", "1 2-0a1b2c3d"]
)
def test_a_directory_of_another_name_is_the_users(parent: Path, name: str) -> None:
    photos = filled(parent / name, "1-1", "lock", "summer.jpg")
    SpillDirectory(str(parent)).claim()
    assert files_below(photos) == {"1-1", "lock", "summer.jpg"}


@pytest.mark.clause("security-start-deletes-only-its-own")
@pytest.mark.parametrize("name", ["old", "of a server"])
def test_a_link_in_the_directory_is_not_followed(parent: Path, tmp_path: Path, name: str) -> None:
    important = filled(tmp_path / "important", "1-1", "2-7", "lock")
    link = parent / (name_of_a_killed_server() if name == "of a server" else name)
    link.symlink_to(important)
    SpillDirectory(str(parent)).claim()
    assert files_below(important) == {"1-1", "2-7", "lock"}
    assert link.is_symlink()


@pytest.mark.clause("security-start-deletes-only-its-own")
def test_a_lock_that_is_a_link_or_a_pipe_is_neither_followed_nor_waited_for(
    parent: Path, tmp_path: Path
) -> None:
    (tmp_path / "target").write_text("content")
    linked = filled(parent / name_of_a_killed_server())
    (linked / "lock").symlink_to(tmp_path / "target")
    pipe = filled(parent / name_of_a_killed_server())
    os.mkfifo(pipe / "lock")
    SpillDirectory(str(parent)).claim()
    assert (tmp_path / "target").read_text() == "content"


@pytest.mark.clause("security-start-deletes-only-its-own")
def test_files_of_the_user_in_the_directory_of_a_killed_server_stay(parent: Path) -> None:
    left = filled(parent / name_of_a_killed_server(), "lock", "3-0", "notes.txt", "3-0.bak")
    filled(left / "4-0", "1-1")
    SpillDirectory(str(parent)).claim()
    assert files_below(left) >= {"notes.txt", "3-0.bak", "4-0/1-1"}


@pytest.mark.clause("security-start-deletes-only-its-own")
def test_a_spill_directory_that_is_a_link_to_another_disk_keeps_what_is_there(tmp_path: Path) -> None:
    disk = filled(tmp_path / "bigdisk" / "photos", "1-1", "lock").parent
    left = filled(disk / name_of_a_killed_server(), "lock", "1-0")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "spill").symlink_to(disk)
    own = SpillDirectory(str(tmp_path / "data" / "spill"))
    own.claim()
    assert files_below(disk / "photos") == {"1-1", "lock"}
    assert not left.exists()
    assert os.path.isdir(own.own)


def test_the_directory_of_a_running_server_stays(parent: Path) -> None:
    running = SpillDirectory(str(parent))
    running.claim()
    SpillDirectory(str(parent)).claim()
    assert os.path.exists(os.path.join(running.own, "lock"))
