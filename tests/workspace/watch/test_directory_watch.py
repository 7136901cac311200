from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec import UNSET

from sandbox_agent.errors import InvalidRequest, NotFound, PermissionDenied
from sandbox_agent.workspace.files import renameat2
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.watch import changes
from sandbox_agent.workspace.watch.directory_watch import DirectoryWatch

from .watching import next_report, seen, watching


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.clause("changes-fs-watch")
def test_changes_at_every_depth_are_reported(workspace: Workspace, home: Path) -> None:
    (home / "a/b").mkdir(parents=True)
    (home / "a/b/old").write_text("x")
    (home / "gone").write_text("x")
    with watching(workspace, home) as watch:
        assert (watch.directories, watch.is_complete) == (3, True)
        (home / "a/b/new").write_text("x")
        (home / "a/b/old").write_text("y")
        (home / "gone").unlink()
        assert seen(next_report(watch), home) == {
            ("created", "a/b/new"),
            ("modified", "a/b/old"),
            ("deleted", "gone"),
        }


@pytest.mark.clause("changes-fs-watch")
def test_a_new_directory_is_watched_and_what_it_already_contains_is_reported(
    workspace: Workspace, home: Path
) -> None:
    with watching(workspace, home) as watch:
        (home / "x/y").mkdir(parents=True)
        (home / "x/y/early").write_text("1")
        found = seen(next_report(watch), home)
        assert found == {("created", "x"), ("created", "x/y"), ("created", "x/y/early")}
        (home / "x/y/late").write_text("1")
        assert ("created", "x/y/late") in seen(next_report(watch), home)


@pytest.mark.clause("changes-fs-watch")
def test_a_rename_is_one_change_and_the_watch_follows_it(workspace: Workspace, home: Path) -> None:
    (home / "before/in").mkdir(parents=True)
    with watching(workspace, home) as watch:
        (home / "before").rename(home / "after")
        (change,) = next_report(watch).changes
        assert (change.kind, change.path, change.previous_path, change.entry_type) == (
            "renamed",
            str(home / "after"),
            str(home / "before"),
            "directory",
        )
        (home / "after/in/file").write_text("x")
        assert seen(next_report(watch), home) == {("created", "after/in/file")}


def test_two_directories_that_exchange_their_names_are_watched_under_the_new_ones(
    workspace: Workspace, home: Path
) -> None:
    (home / "a/in-a").mkdir(parents=True)
    (home / "b/in-b").mkdir(parents=True)
    with watching(workspace, home) as watch, opened(home) as top:
        for _ in range(2):
            assert renameat2.swap(top, "a", top, "b")
            assert seen(next_report(watch), home) == {("renamed", "a"), ("renamed", "b")}
        assert renameat2.swap(top, "a", top, "b")
        next_report(watch)
        (home / "a/in-b/file").write_text("x")
        (home / "b/in-a/file").write_text("x")
        assert seen(next_report(watch), home) == {("created", "a/in-b/file"), ("created", "b/in-a/file")}


def test_files_that_come_and_go_at_once_are_not_reported(workspace: Workspace, home: Path) -> None:
    with watching(workspace, home) as watch:
        (home / "temporary").write_text("x")
        (home / "temporary").unlink()
        (home / "stays").write_text("x")
        (home / "stays").write_text("more")
        report = next_report(watch)
        assert seen(report, home) == {("created", "stays")}
        assert report.changes[0].previous_path is UNSET


def test_a_directory_moved_out_is_deleted_and_no_longer_watched(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    (home / "a/b").mkdir(parents=True)
    with watching(workspace, home) as watch:
        (home / "a").rename(tmp_path / "elsewhere")
        assert seen(next_report(watch), home) == {("deleted", "a")}
        (tmp_path / "elsewhere/b/file").write_text("x")
        (home / "visible").write_text("x")
        assert seen(next_report(watch), home) == {("created", "visible")}


def test_excluded_names_and_links_are_left_out(workspace: Workspace, home: Path, tmp_path: Path) -> None:
    (home / "node_modules/deep").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (home / "link").symlink_to(tmp_path / "outside")
    with watching(workspace, home, excluded=frozenset({"node_modules"})) as watch:
        assert watch.directories == 1
        (home / "node_modules/deep/file").write_text("x")
        (tmp_path / "outside/file").write_text("x")
        (home / "seen").write_text("x")
        assert seen(next_report(watch), home) == {("created", "seen")}


def test_without_recursion_only_the_directory_itself_is_watched(workspace: Workspace, home: Path) -> None:
    (home / "below").mkdir()
    with watching(workspace, home, recursive=False) as watch:
        (home / "below/file").write_text("x")
        (home / "made").mkdir()
        assert seen(next_report(watch), home) == {("created", "made")}
        assert watch.directories == 1


def test_the_end_of_the_directory_ends_the_watch(workspace: Workspace, home: Path) -> None:
    (home / "short").mkdir()
    with watching(workspace, home / "short") as watch:
        (home / "short").rmdir()
        assert next_report(watch).ended


@pytest.mark.clause("changes-fs-watch")
def test_more_directories_than_the_limit_are_told(workspace: Workspace, home: Path) -> None:
    for number in range(5):
        (home / f"d{number}").mkdir()
    with watching(workspace, home, max_directories=3) as watch:
        assert (watch.directories, watch.is_complete) == (3, False)


@pytest.mark.clause("changes-fs-watch")
def test_an_overflow_is_told_and_the_directories_that_exist_are_watched_afterwards(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    (home / "gone").mkdir()
    (home / "moved").mkdir()
    with watching(workspace, home) as watch:
        (home / "a").write_text("")
        (home / "b").write_text("")
        for _ in range(limit // 2 + 10):  # Equal reports in a row are joined, so two files take turns.
            os.utime(home / "a")
            os.utime(home / "b")
        (home / "lost").mkdir()
        (home / "gone").rmdir()
        (home / "moved").rename(tmp_path / "away")
        while not (report := next_report(watch)).overflowed:
            pass
        assert report.overflowed
        while select.select([watch.fileno()], [], [], 0)[0]:
            watch.take()
        assert watch.directories == 2
        (tmp_path / "away/file").write_text("x")
        (home / "lost/file").write_text("x")
        assert seen(next_report(watch), home) == {("created", "lost/file")}


@pytest.mark.clause("changes-fs-watch", "decision-48")
def test_what_cannot_be_watched_is_refused(
    workspace: Workspace, bounded: Workspace, home: Path, tmp_path: Path
) -> None:
    (home / "file").write_text("x")
    (home / "out").symlink_to(tmp_path)
    for space, path, error in (
        (workspace, home / "missing", NotFound),
        (workspace, home / "file", InvalidRequest),
        (bounded, tmp_path, PermissionDenied),
        (bounded, home / "out", PermissionDenied),
    ):
        with pytest.raises(error):
            DirectoryWatch(space, str(path), recursive=True, excluded=frozenset(), max_directories=9)


@pytest.mark.clause("changes-fs-watch")
def test_a_directory_with_too_many_files_is_an_overflow(
    workspace: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "MAX_CHANGES", 100)
    (home / "full").mkdir()
    for number in range(200):
        (home / "full" / str(number)).touch()
    (home / "watched").mkdir()
    with watching(workspace, home / "watched") as watch:
        (home / "full").rename(home / "watched/full")
        report = next_report(watch)
        assert (report.changes, report.overflowed) == ([], True)
        (home / "watched/full/new").touch()
        report = next_report(watch)
        assert (seen(report, home), report.overflowed) == ({("created", "watched/full/new")}, False)
