"""Paths below a root: nothing leads out, whatever links say and however they change."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandbox_agent.errors import InvalidRequest, NotFound, PermissionDenied, SandboxAgentError
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files import listing, renameat2
from sandbox_agent.workspace.files.directory_entries import delete, mkdir
from sandbox_agent.workspace.files.move import move
from sandbox_agent.workspace.files.open_file import OpenFile
from sandbox_agent.workspace.files.workspace import Workspace


def content(workspace: Workspace, path: str) -> bytes:
    file = OpenFile(workspace, path)
    try:
        return file.open_and_read(1 << 20)
    finally:
        file.close()


@pytest.mark.clause("decision-24")
def test_relative_paths_start_at_home(workspace: Workspace, home: Path) -> None:
    (home / "a.txt").write_bytes(b"here")
    assert content(workspace, "a.txt") == b"here"
    assert listing.stat(workspace, "a.txt").path == f"{home}/a.txt"
    assert listing.stat(workspace, "").path == str(home)


@pytest.mark.clause("decision-24")
@pytest.mark.parametrize("path", ["../x", "a/../b", "a/..", ".."])
def test_dots_in_a_relative_path_are_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(InvalidRequest, match="invalid relative path"):
        listing.stat(workspace, path)


def test_dots_in_an_absolute_path_are_as_in_posix(workspace: Workspace, home: Path) -> None:
    (home / "d" / "e").mkdir(parents=True)
    (home / "link").symlink_to("d/e")
    (home / "d" / "f").write_bytes(b"through the link")
    assert content(workspace, f"{home}/link/../f") == b"through the link"
    assert content(workspace, f"{'/..' * 3}{home}/d/./f") == b"through the link"


def test_a_tilde_is_a_name(workspace: Workspace, home: Path) -> None:
    (home / "~").write_bytes(b"tilde")
    assert content(workspace, "~") == b"tilde"


@pytest.mark.parametrize("path", ["a\0b", "/\0", "a\ud800"])
def test_text_that_is_no_path_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(InvalidRequest):
        listing.stat(workspace, path)


def test_a_name_that_is_too_long_is_refused(workspace: Workspace) -> None:
    with pytest.raises(InvalidRequest, match="too long"):
        listing.stat(workspace, "x" * 300)


def test_a_loop_of_links_is_refused(workspace: Workspace, home: Path) -> None:
    (home / "a").symlink_to("b")
    (home / "b").symlink_to("a")
    with pytest.raises(InvalidRequest, match="too many symbolic links"):
        listing.stat(workspace, "a")


def test_paths_outside_the_root_are_forbidden(bounded: Workspace, home: Path) -> None:
    for path in ("/", "/etc/passwd", f"{home}/../x", f"{home}x", f"{home}/a/../../home/x"):
        with pytest.raises((PermissionDenied, NotFound)) as refused:
            listing.stat(bounded, path)
        assert refused.type is PermissionDenied or "/a/" in path


def test_relative_paths_start_at_the_root(bounded: Workspace, home: Path) -> None:
    (home / "a").write_bytes(b"root")
    assert content(bounded, "a") == b"root"
    assert content(bounded, f"{home}/a") == b"root"


@pytest.mark.clause("decision-48")
def test_links_out_of_the_root_are_forbidden(bounded: Workspace, home: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (home / "absolute").symlink_to(tmp_path / "secret")
    (home / "relative").symlink_to("../secret")
    (home / "directory").symlink_to(tmp_path)
    (home / "hidden").symlink_to("directory/secret")
    for path in ("absolute", "relative", "directory/secret", "hidden", "directory/home/absolute"):
        with pytest.raises(PermissionDenied):
            content(bounded, path)


def test_links_that_stay_inside_are_followed(bounded: Workspace, home: Path) -> None:
    (home / "d").mkdir()
    (home / "d" / "f").write_bytes(b"inside")
    (home / "absolute").symlink_to(home / "d")
    (home / "relative").symlink_to("./d/../d/f")
    assert content(bounded, "absolute/f") == b"inside"
    assert content(bounded, "relative") == b"inside"


def test_the_root_may_be_named_through_a_link(home: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(home)
    (home / "a").write_bytes(b"x")
    workspace = Workspace(str(tmp_path / "alias"))
    try:
        assert content(workspace, f"{tmp_path}/alias/a") == b"x"
        assert content(workspace, f"{home}/a") == b"x"
    finally:
        workspace.close()


@pytest.mark.clause("promise-L", "files-root-under-a-race", "security-paths-and-archives")
def test_a_directory_that_turns_into_a_link_is_never_followed_out(
    bounded: Workspace, home: Path, tmp_path: Path
) -> None:
    """The race a check of the path text would lose."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"SECRET")
    (home / "d").mkdir()
    (home / "d" / "f").write_bytes(b"fine")
    (home / "fake").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        directory = os.open(home, os.O_RDONLY)
        while not stop.is_set():
            renameat2.swap(directory, "d", directory, "fake")
        os.close(directory)

    thread = threading.Thread(target=swap)
    thread.start()
    read = 0
    try:
        for number in range(1500):
            with contextlib.suppress(NotFound, PermissionDenied, InvalidRequest):
                assert content(bounded, "d/f") == b"fine"
                read += 1
            with contextlib.suppress(NotFound, PermissionDenied, InvalidRequest):
                mkdir(bounded, f"d/made-{number % 7}")
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()
    assert read > 0
    assert sorted(os.listdir(outside)) == ["f"]


names = st.sampled_from(["a", "b", "..", ".", "", "link", "out", "é", "x y"])
paths = st.lists(names, max_size=6).map("/".join)


@pytest.mark.clause("decision-48", "fuzz-files")
@settings(max_examples=150, deadline=None)
@given(
    links=st.lists(st.tuples(paths, paths | paths.map(lambda p: "/" + p)), max_size=5),
    steps=st.lists(st.tuples(st.sampled_from(["mkdir", "delete", "move"]), paths, paths), max_size=6),
)
# Without `symlink_below` the test itself would make the second link outside of the root.
@example(links=[("x y", "../.."), ("x y/link", "b")], steps=[("delete", "a/x y/out", "")])
def test_nothing_outside_the_root_changes(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, str]], steps: list[tuple[str, str, str]]
) -> None:
    top = tmp_path_factory.mktemp("outside")
    root = top / "root"
    (root / "a" / "b").mkdir(parents=True)
    (top / "out").mkdir()
    (top / "out" / "keep").write_bytes(b"keep")
    before = snapshot(top, root)
    workspace = Workspace(str(root), home=str(root))
    try:
        for place, target in links:
            with contextlib.suppress(OSError, ValueError):
                symlink_below(root / "a", place.replace("..", "dots").strip("/"), target)
        for step, one, other in steps:
            for prefix in ("", f"{root}/"):
                with contextlib.suppress(SandboxAgentError):
                    if step == "mkdir":
                        mkdir(workspace, prefix + one)
                    elif step == "delete":
                        delete(workspace, prefix + one, recursive=True, progress=ProgressToken())
                    else:
                        move(workspace, prefix + one, other, overwrite=True, progress=ProgressToken())
    finally:
        workspace.close()
    assert snapshot(top, root) == before
    assert root.is_dir()


def symlink_below(directory: Path, place: str, target: str) -> None:
    """Make a link, unless an earlier one leads out of the root to its place: the test itself stays inside."""
    link = os.path.join(directory, place)
    parent = os.path.realpath(os.path.dirname(link))
    if Path(parent).is_relative_to(os.path.realpath(directory.parent)):
        os.symlink(target, link)


def snapshot(top: Path, without: Path) -> list[tuple[str, bytes]]:
    found = []
    for directory, directories, files in os.walk(top):
        if Path(directory) == without:
            directories.clear()
            continue
        found += [(os.path.join(directory, name), b"/") for name in directories]
        found += [(os.path.join(directory, name), Path(directory, name).read_bytes()) for name in files]
    return sorted(found)
