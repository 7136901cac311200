"""move: a link is moved itself, and the destination survives every failure."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest, NotFound, SandboxAgentError
from sandbox_agent.workspace.executor.progress_token import OperationCancelled, ProgressToken
from sandbox_agent.workspace.files import renameat2
from sandbox_agent.workspace.files.move import move
from sandbox_agent.workspace.files.workspace import Workspace
from tests.workspace.files.file_trees import fill, tree


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A directory on another file system."""
    top = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield top
    shutil.rmtree(top)


def test_move_makes_parents_of_the_destination(workspace: Workspace, home: Path) -> None:
    fill(home, a="A")
    assert move(workspace, "a", "x/y/z", overwrite=False, progress=ProgressToken()) == (
        f"{home}/a",
        f"{home}/x/y/z",
    )
    assert tree(home) == {"x": "/", "x/y": "/", "x/y/z": "A"}


@pytest.mark.clause("files-move")
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_missing_source_leaves_the_destination(workspace: Workspace, home: Path, overwrite: bool) -> None:
    fill(home, kept="kept", d__kept="kept")
    for to in ("kept", "d", "new/deep/place"):
        with pytest.raises(NotFound):
            move(workspace, "missing", to, overwrite=overwrite, progress=ProgressToken())
    assert tree(home) == {"kept": "kept", "d": "/", "d/kept": "kept"}


def test_an_existing_destination_is_refused_without_overwrite(workspace: Workspace, home: Path) -> None:
    fill(home, a="A", b="B", d__c="C")
    (home / "dangling").symlink_to("nowhere")
    for to in ("b", "d", "dangling", "a"):
        with pytest.raises(InvalidRequest, match="destination already exists"):
            move(workspace, "a", to, overwrite=False, progress=ProgressToken())
    assert tree(home) == {"a": "A", "b": "B", "d": "/", "d/c": "C", "dangling": "-> nowhere"}


@pytest.mark.clause("files-move")
def test_moving_onto_itself(workspace: Workspace, home: Path) -> None:
    fill(home, a="A", d__x="X")
    for path in ("a", "d"):
        move(workspace, path, path, overwrite=True, progress=ProgressToken())
        move(workspace, path, f"{home}/d/../{path}", overwrite=True, progress=ProgressToken())
    assert tree(home) == {"a": "A", "d": "/", "d/x": "X"}


def test_two_names_of_one_file_become_one(workspace: Workspace, home: Path) -> None:
    fill(home, a="A")
    os.link(home / "a", home / "b")
    move(workspace, "a", "b", overwrite=True, progress=ProgressToken())
    assert tree(home) == {"b": "A"}


@pytest.mark.clause("files-move")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("to", ["d/inside", "d/new/deeper", "d/e/f", "link/inside"])
def test_a_directory_cannot_move_into_itself(
    workspace: Workspace, home: Path, to: str, overwrite: bool
) -> None:
    fill(home, d__e__f="F")
    (home / "link").symlink_to("d")
    before = tree(home)
    with pytest.raises(InvalidRequest):
        move(workspace, "d", to, overwrite=overwrite, progress=ProgressToken())
    assert tree(home) == before


@pytest.mark.clause("files-move")
def test_a_source_inside_the_destination_is_refused(workspace: Workspace, home: Path) -> None:
    fill(home, d__e__f="F", d__g="G")
    before = tree(home)
    for source in ("d/e", "d/g", "d/e/f"):
        with pytest.raises(InvalidRequest, match="inside the destination"):
            move(workspace, source, "d", overwrite=True, progress=ProgressToken())
    assert tree(home) == before


KINDS = ("file", "empty", "full", "link")


def make(place: Path, kind: str, text: str) -> None:
    if kind == "file":
        place.write_text(text)
    elif kind == "link":
        place.symlink_to(text)
    else:
        place.mkdir()
        if kind == "full":
            (place / "inside").write_text(text)


@pytest.mark.clause("files-move")
@pytest.mark.parametrize("can_swap", [True, False])
@pytest.mark.parametrize("new", KINDS)
@pytest.mark.parametrize("old", KINDS)
def test_overwrite_replaces_any_kind_by_any_kind(
    workspace: Workspace, home: Path, old: str, new: str, can_swap: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_swap:
        monkeypatch.setattr(renameat2, "_system_call", lambda: None)  # as on a system without renameat2
    make(home / "from", new, "new")
    make(home / "to", old, "old")
    make(home / "expected", new, "new")
    move(workspace, "from", "to", overwrite=True, progress=ProgressToken())
    found = tree(home)
    assert {k.replace("expected", "to"): v for k, v in found.items() if k.startswith("expected")} == {
        k: v for k, v in found.items() if k.startswith("to")
    }
    assert not any(k.startswith(("from", ".")) for k in found)


@pytest.mark.clause("files-move")
@pytest.mark.parametrize("new", KINDS)
@pytest.mark.parametrize("old", [*KINDS, None])
def test_moves_to_another_file_system(
    workspace: Workspace, home: Path, elsewhere: Path, old: str | None, new: str
) -> None:
    make(home / "from", new, "new")
    make(home / "expected", new, "new")
    if new == "file":
        os.chmod(home / "from", 0o740)
    if old is not None:
        make(elsewhere / "to", old, "old")
    move(workspace, "from", f"{elsewhere}/to", overwrite=old is not None, progress=ProgressToken())
    expected = {k.replace("expected", "to"): v for k, v in tree(home).items() if k.startswith("expected")}
    assert tree(elsewhere) == expected
    assert "from" not in tree(home)
    if new == "file":
        assert (elsewhere / "to").stat().st_mode & 0o777 == 0o740


@pytest.mark.clause("files-move")
def test_a_failed_copy_to_another_file_system_changes_nothing(
    workspace: Workspace, home: Path, elsewhere: Path
) -> None:
    fill(home, d__a="A", d__b="B")
    os.mkfifo(home / "d" / "fifo")  # cannot be copied
    fill(elsewhere, to__kept="kept")
    with pytest.raises(InvalidRequest, match="special file"):
        move(workspace, "d", f"{elsewhere}/to", overwrite=True, progress=ProgressToken())
    with pytest.raises(InvalidRequest, match="special file"):
        move(workspace, "d", f"{elsewhere}/new/deep", overwrite=True, progress=ProgressToken())
    assert tree(elsewhere) == {"to": "/", "to/kept": "kept"}
    assert sorted(os.listdir(home / "d")) == ["a", "b", "fifo"]


def test_a_copy_that_was_given_up_changes_nothing(workspace: Workspace, home: Path, elsewhere: Path) -> None:
    fill(home, d__a="A")
    progress = ProgressToken()
    progress.cancel()
    with pytest.raises(OperationCancelled):
        move(workspace, "d", f"{elsewhere}/to", overwrite=True, progress=progress)
    assert tree(elsewhere) == {}
    assert tree(home) == {"d": "/", "d/a": "A"}


@pytest.mark.clause("files-move")
def test_of_many_moves_to_one_name_exactly_one_wins(workspace: Workspace, home: Path) -> None:
    for number in range(12):
        (home / f"from{number}").write_text(str(number))
    errors: list[SandboxAgentError] = []

    def attempt(number: int) -> None:
        try:
            move(workspace, f"from{number}", "to", overwrite=False, progress=ProgressToken())
        except InvalidRequest as error:
            errors.append(error)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(errors) == 11
    assert len(os.listdir(home)) == 12  # nothing was overwritten


def test_without_renameat2_a_rename_still_does_not_replace(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renameat2, "_system_call", lambda: None)
    fill(home, a="A", b="B")
    (home / "d").mkdir()
    (home / "e").mkdir()
    fd = os.open(home, os.O_RDONLY)
    try:
        for source, target in (("a", "b"), ("d", "e"), ("d", "b"), ("a", "e")):
            with pytest.raises(FileExistsError) as refused:
                renameat2.without_replacing(fd, source, fd, target)
            assert refused.value.errno == errno.EEXIST
        renameat2.without_replacing(fd, "a", fd, "new")
        renameat2.without_replacing(fd, "d", fd, "newd")
    finally:
        os.close(fd)
    assert tree(home) == {"new": "A", "b": "B", "e": "/", "newd": "/"}
