"""mkdir and delete: links are deleted themselves, protected directories are refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.executor.progress_token import OperationCancelled, ProgressToken
from sandbox_agent.workspace.files import directory_trees
from sandbox_agent.workspace.files.directory_entries import delete, mkdir
from sandbox_agent.workspace.files.move import move
from sandbox_agent.workspace.files.workspace import Workspace
from tests.workspace.files.file_trees import fill, tree

# ---- mkdir


def test_mkdir_makes_parents_and_is_content_with_what_exists(workspace: Workspace, home: Path) -> None:
    assert mkdir(workspace, "a/b/c") == f"{home}/a/b/c"
    assert mkdir(workspace, "a/b/c") == f"{home}/a/b/c"
    (home / "link").symlink_to("a")
    mkdir(workspace, "link")
    mkdir(workspace, "link/d")
    assert (home / "a/d").is_dir()


def test_mkdir_over_or_below_a_file_is_refused(workspace: Workspace, home: Path) -> None:
    fill(home, f="x")
    for path in ("f", "f/g", "f/g/h"):
        with pytest.raises(InvalidRequest):
            mkdir(workspace, path)


# ---- delete


@pytest.mark.clause("files-links-and-entries")
def test_delete_acts_on_links_themselves(workspace: Workspace, home: Path) -> None:
    fill(home, d__keep="kept")
    (home / "to-directory").symlink_to("d")
    (home / "dangling").symlink_to("nowhere")
    for name in ("to-directory", "dangling"):
        assert delete(workspace, name, recursive=False, progress=ProgressToken()) == f"{home}/{name}"
    assert tree(home) == {"d": "/", "d/keep": "kept"}


def test_a_full_directory_needs_recursive(workspace: Workspace, home: Path) -> None:
    fill(home, d__e__f="x", d__g="y")
    (home / "d/link").symlink_to("/etc")
    with pytest.raises(InvalidRequest, match=r"directory is not empty: .*/d"):
        delete(workspace, "d", recursive=False, progress=ProgressToken())
    delete(workspace, "d", recursive=True, progress=ProgressToken())
    assert tree(home) == {}
    assert Path("/etc/passwd").exists()


def test_special_files_can_be_deleted(workspace: Workspace, home: Path) -> None:
    os.mkfifo(home / "fifo")
    delete(workspace, "fifo", recursive=False, progress=ProgressToken())
    assert tree(home) == {}


@pytest.mark.clause("files-protected")
def test_what_everything_stands_on_is_never_deleted_or_moved(workspace: Workspace, home: Path) -> None:
    fill(home, keep="kept")
    for path in ("/", "//", "/.", "/..", str(home), f"{home}/", f"{home}/.", f"{home}/../home", "", " ", "."):
        with pytest.raises(InvalidRequest):
            delete(workspace, path, recursive=True, progress=ProgressToken())
        for overwrite in (False, True):
            with pytest.raises(InvalidRequest):
                move(workspace, path, "/nowhere/x", overwrite=overwrite, progress=ProgressToken())
            with pytest.raises(InvalidRequest):
                move(workspace, "keep", path, overwrite=overwrite, progress=ProgressToken())
    with pytest.raises(InvalidRequest, match="protected"):  # a parent of home would take it along
        delete(workspace, str(home.parent), recursive=True, progress=ProgressToken())
    assert tree(home) == {"keep": "kept"}


def test_the_root_is_protected(bounded: Workspace, home: Path) -> None:
    for path in (str(home), ".", f"{home}/."):
        with pytest.raises(InvalidRequest):
            delete(bounded, path, recursive=True, progress=ProgressToken())


def test_a_delete_that_was_given_up_stops(workspace: Workspace, home: Path) -> None:
    fill(home, d__a="1", d__b="2")
    progress = ProgressToken()
    progress.cancel()
    with pytest.raises(OperationCancelled):
        delete(workspace, "d", recursive=True, progress=progress)
    assert len(tree(home)) == 3


def test_a_tree_that_is_too_deep_is_refused(workspace: Workspace, home: Path) -> None:
    mkdir(workspace, "/".join(["d"] * (directory_trees.MAX_DEPTH + 5)))
    with pytest.raises(InvalidRequest, match="deeper"):
        delete(workspace, "d", recursive=True, progress=ProgressToken())
    shutil.rmtree(home / "d")
