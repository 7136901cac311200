"""What a watch reports of files that the server itself writes: the final paths, never a temporary name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files import renameat2, temporary_file
from sandbox_agent.workspace.files.atomic_write import AtomicWrite
from sandbox_agent.workspace.files.move import move
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.watch.directory_watch import DirectoryWatch
from tests.workspace.tar.tars import file, hard_link, link, tar, unpack

from .watching import next_report, seen, watching

pytestmark = pytest.mark.clause("changes-fs-watch")


@pytest.fixture(params=["unnamed", "hidden"], autouse=True)
def can_be_unnamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without a file system that knows files without a name."""
    if request.param == "hidden":
        monkeypatch.setattr(temporary_file, "_OWN_DESCRIPTORS", "/nowhere")


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A directory on another file system."""
    top = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield top
    shutil.rmtree(top)


def reported(watch: DirectoryWatch, home: Path) -> list[tuple[str, str, str]]:
    report = next_report(watch)
    assert not report.overflowed and not report.ended
    return sorted((one.kind, str(Path(one.path).relative_to(home)), one.entry_type) for one in report.changes)


def write(workspace: Workspace, path: str, data: bytes, *, must_not_exist: bool = False) -> None:
    atomic = AtomicWrite(workspace, path, must_not_exist=must_not_exist)
    try:
        atomic.begin()
        atomic.write(data)
        atomic.commit(ProgressToken())
    finally:
        atomic.abort()


@pytest.mark.parametrize("must_not_exist", [False, True])
def test_a_new_file_is_created(workspace: Workspace, home: Path, must_not_exist: bool) -> None:
    with watching(workspace, home) as watch:
        write(workspace, "new", b"x", must_not_exist=must_not_exist)
        assert reported(watch, home) == [("created", "new", "file")]


def test_a_replaced_file_is_modified(workspace: Workspace, home: Path) -> None:
    (home / "old").write_text("x")
    with watching(workspace, home) as watch:
        write(workspace, "old", b"y")
        assert reported(watch, home) == [("modified", "old", "file")]
        write(workspace, "old", b"z")
        (home / "old").unlink()
        assert reported(watch, home) == [("deleted", "old", "file")]


def test_a_write_that_is_seen_in_the_middle_is_one_change(workspace: Workspace, home: Path) -> None:
    with watching(workspace, home) as watch:
        atomic = AtomicWrite(workspace, "new")
        atomic.begin()
        atomic.write(b"half")
        assert watch.take().changes == []
        atomic.write(b"whole")
        atomic.commit(ProgressToken())
        atomic.abort()
        assert reported(watch, home) == [("created", "new", "file")]


def test_a_write_that_is_given_up_is_not_reported(workspace: Workspace, home: Path) -> None:
    with watching(workspace, home) as watch:
        atomic = AtomicWrite(workspace, "new")
        atomic.begin()
        atomic.write(b"half")
        atomic.abort()
        assert watch.take().changes == []


def test_an_unpacked_archive_is_reported_by_its_names(workspace: Workspace, home: Path) -> None:
    (home / "to").mkdir()
    (home / "to/old").write_text("x")
    (home / "to/old-link").symlink_to("x")
    entries = [
        file("new"),
        file("old"),
        link("link", "new"),
        link("old-link", "new"),
        hard_link("same", "new"),
    ]
    with watching(workspace, home) as watch:
        unpack(workspace, tar(*entries))
        assert reported(watch, home) == [
            ("created", "to/link", "file"),
            ("created", "to/new", "file"),
            ("created", "to/same", "file"),
            ("modified", "to/old", "file"),
            ("modified", "to/old-link", "file"),
        ]


def test_a_move_is_a_rename(workspace: Workspace, home: Path) -> None:
    (home / "a").write_text("x")
    with watching(workspace, home) as watch:
        move(workspace, "a", "b", overwrite=False, progress=ProgressToken())
        (change,) = next_report(watch).changes
        assert (change.kind, change.path, change.previous_path) == ("renamed", f"{home}/b", f"{home}/a")


@pytest.mark.parametrize("can_swap", [True, False])
def test_a_directory_that_replaces_another_is_watched_under_its_new_name(
    workspace: Workspace, home: Path, can_swap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_swap:
        monkeypatch.setattr(renameat2, "_renameat2", lambda *_: False)
    (home / "a/new").mkdir(parents=True)
    (home / "b/old").mkdir(parents=True)
    with watching(workspace, home) as watch:
        move(workspace, "a", "b", overwrite=True, progress=ProgressToken())
        found = seen(next_report(watch), home)
        assert ("renamed", "b") in found and not any("sandbox-agent" in path for _, path in found)
        (home / "b/new/file").write_text("x")
        assert seen(next_report(watch), home) == {("created", "b/new/file")}
        assert watch.directories == 3


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_from_another_file_system_is_created(
    workspace: Workspace, home: Path, elsewhere: Path, overwrite: bool
) -> None:
    (elsewhere / "a").write_text("x")
    with watching(workspace, home) as watch:
        move(workspace, f"{elsewhere}/a", "b", overwrite=overwrite, progress=ProgressToken())
        assert reported(watch, home) == [("created", "b", "file")]


class LookingOn(ProgressToken):
    """Takes the reports of a watch at each step of the work."""

    def __init__(self, watch: DirectoryWatch) -> None:
        super().__init__()
        self._watch = watch
        self.seen: list[tuple[str, str]] = []

    def advance(self) -> None:
        super().advance()
        self.look()

    def look(self) -> None:
        self.seen += [(change.kind, change.path) for change in self._watch.take().changes]


@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("in_steps", [True, False])
def test_a_directory_from_another_file_system_is_created_and_watched(
    workspace: Workspace,
    home: Path,
    elsewhere: Path,
    can_swap: bool,
    in_steps: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It replaces a directory that is not empty."""
    if not can_swap:
        monkeypatch.setattr(renameat2, "_renameat2", lambda *_: False)
    (elsewhere / "a/below").mkdir(parents=True)
    (elsewhere / "a/below/file").write_text("x")
    (home / "b/old").mkdir(parents=True)
    with watching(workspace, home) as watch:
        looking = LookingOn(watch)
        move(
            workspace,
            f"{elsewhere}/a",
            "b",
            overwrite=True,
            progress=looking if in_steps else ProgressToken(),
        )
        looking.look()
        assert not [path for _, path in looking.seen if "sandbox-agent" in path]
        assert {("created", f"{home}/b/below"), ("created", f"{home}/b/below/file")} <= set(looking.seen)
        assert [kind for kind, path in looking.seen if path == f"{home}/b"][-1] == "created"
        (home / "b/below/late").write_text("x")
        assert seen(next_report(watch), home) == {("created", "b/below/late")}


def test_a_file_of_the_user_may_be_called_like_an_unnamed_one(workspace: Workspace, home: Path) -> None:
    (home / "#12").write_text("x")
    with watching(workspace, home) as watch:
        (home / "#12").write_text("y")
        assert reported(watch, home) == [("modified", "#12", "file")]
