from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from msgspec import UNSET

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.git.bodies import GitDiff, GitFileDiff
from sandbox_agent.workspace.git.diff import diff
from sandbox_agent.workspace.git.git_command import GitLimits
from sandbox_agent.workspace.git.log import log
from sandbox_agent.workspace.git.repository import Repository
from tests.support.git_repository import git, new_repository

pytestmark = pytest.mark.process


def opened(workspace: Workspace, path: Path, limits: GitLimits | None = None) -> Repository:
    return Repository(workspace, str(path), limits or GitLimits(), {})


def diff_of(
    workspace: Workspace,
    path: Path,
    *,
    base: str = "HEAD",
    staged: bool = False,
    file: str | None = None,
    context: int = 3,
    limits: GitLimits | None = None,
) -> GitDiff:
    repository = opened(workspace, path, limits)
    return diff(repository, base=base, staged=staged, file=file, context=context)


def by_path(found: GitDiff) -> dict[str, GitFileDiff]:
    return {file.path: file for file in found.files}


@pytest.mark.clause("changes-git-diff")
def test_the_patches_of_a_diff_recreate_the_work_tree(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    (repository / "a.txt").write_text("one\n2\nthree")
    git(repository, "mv", "long.txt", "renamed ü")
    with (repository / "renamed ü").open("a") as file:
        file.write("more\n")
    (repository / "link").unlink()
    (repository / "link").write_text("a file now\n")
    (repository / "new").write_text("first\nlast without newline")
    (repository / "empty").touch()
    (repository / "run.sh").write_text("#!/bin/sh\n")
    (repository / "run.sh").chmod(0o755)
    found = diff_of(workspace, repository)
    assert found.base == git(repository, "rev-parse", "HEAD") and not found.truncated
    copy = home / "copy"
    git(home, "clone", "--quiet", str(repository), str(copy))
    patch = "".join(file.patch for file in found.files if file.patch is not UNSET)
    subprocess.run(["git", "apply", "-"], cwd=copy, input=patch, text=True, check=True, timeout=30)  # noqa: S607
    names = sorted(path.name for path in repository.iterdir() if path.name != ".git")
    assert names == sorted(path.name for path in copy.iterdir() if path.name != ".git")
    for name in names:
        assert (copy / name).read_bytes() == (repository / name).read_bytes(), name
        assert (copy / name).stat().st_mode & 0o111 == (repository / name).stat().st_mode & 0o111


@pytest.mark.clause("changes-git-diff")
def test_counts_binary_files_renames_and_types_are_told(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    (repository / "a.txt").write_text("one\n2\n3\n4\n")
    (repository / "picture.png").write_bytes(b"\x89PNG\0\3")
    git(repository, "mv", "long.txt", "moved.txt")
    (repository / "link").unlink()
    (repository / "link").write_text("file\n")
    (repository / "new.bin").write_bytes(b"\0" * 10)
    (repository / "huge.txt").write_bytes(b"x" * 79 + b"\n" * 5_000_000)
    files = by_path(diff_of(workspace, repository))
    assert {path: file.status for path, file in files.items()} == {
        "a.txt": "modified",
        "picture.png": "modified",
        "moved.txt": "renamed",
        "link": "type",
        "new.bin": "untracked",
        "huge.txt": "untracked",
    }
    assert (files["a.txt"].added, files["a.txt"].removed) == (3, 2)
    assert files["moved.txt"].original_path == "long.txt"
    for binary in ("picture.png", "new.bin", "huge.txt"):
        assert files[binary].binary and files[binary].patch is UNSET and files[binary].added is UNSET
    link = files["link"].patch
    assert isinstance(link, str) and "deleted file mode 120000" in link and "+file" in link


def test_files_that_were_only_touched_are_left_out(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    for name in ("a.txt", "picture.png"):
        os.utime(repository / name, (1, 1))
    (repository / "long.txt").chmod(0o755)
    assert list(by_path(diff_of(workspace, repository))) == ["long.txt"]


@pytest.mark.clause("changes-git-diff")
def test_staged_one_file_another_base_and_context_are_chosen_by_the_client(
    workspace: Workspace, home: Path
) -> None:
    repository = new_repository(home / "repo")
    (repository / "a.txt").write_text("one\n2\nthree\n")
    git(repository, "add", "a.txt")
    (repository / "a.txt").write_text("1\n2\nthree\n")
    (repository / "new").write_text("x\n")
    assert list(by_path(diff_of(workspace, repository, staged=True))) == ["a.txt"]
    assert by_path(diff_of(workspace, repository, staged=True))["a.txt"].added == 1
    assert by_path(diff_of(workspace, repository))["a.txt"].added == 2
    assert list(by_path(diff_of(workspace, repository, file="new"))) == ["new"]
    patch = by_path(diff_of(workspace, repository, staged=True, context=0))["a.txt"].patch
    assert isinstance(patch, str) and "\n three" not in patch
    git(repository, "commit", "--quiet", "--all", "--message", "Second")
    assert list(by_path(diff_of(workspace, repository, base="HEAD~1", file="a.txt"))) == ["a.txt"]
    for wrong in ("nonsense", "--output=/x", "HEAD:a.txt"):
        with pytest.raises(InvalidRequest):
            diff_of(workspace, repository, base=wrong)


def test_a_repository_without_a_commit_and_a_conflict_have_a_diff(workspace: Workspace, home: Path) -> None:
    repository = home / "empty"
    repository.mkdir()
    git(repository, "init", "--quiet")
    (repository / "a").write_text("x\n")
    git(repository, "add", "a")
    found = diff_of(workspace, repository)
    assert found.base is None and by_path(found)["a"].status == "added"
    conflicted = new_repository(home / "conflict")
    git(conflicted, "checkout", "--quiet", "-b", "other")
    for branch in ("other", "main"):
        git(conflicted, "checkout", "--quiet", branch)
        (conflicted / "a.txt").write_text(branch)
        (conflicted / "z.txt").write_text(branch)
        git(conflicted, "add", "--all")
        git(conflicted, "commit", "--quiet", "--message", branch)
    with pytest.raises(subprocess.CalledProcessError):
        git(conflicted, "merge", "other")
    (conflicted / "long.txt").write_text("short\n")
    files = by_path(diff_of(workspace, conflicted))
    assert files["a.txt"].status == "modified" or files["a.txt"].status == "unmerged"
    long = files["long.txt"].patch
    assert isinstance(long, str) and long.startswith("diff --git a/long.txt")


@pytest.mark.clause("changes-git-limits")
def test_a_long_diff_is_cut_and_says_so(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    for number in range(20):
        (repository / f"new-{number:02}").write_text("line\n" * 1000)
    cut = diff_of(workspace, repository, limits=GitLimits(max_bytes=20_000))
    assert cut.truncated and 0 < len(cut.files) < 20
    git(repository, "add", "--all")
    cut = diff_of(workspace, repository, limits=GitLimits(max_bytes=20_000))
    assert cut.truncated and by_path(cut)["new-00"].added == 1000


@pytest.mark.clause("changes-git-log")
def test_the_log_has_commits_newest_first_with_all_their_text(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    (repository / "a.txt").write_text("2\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Zweiter: ü")
    opened_repository = opened(workspace, repository)
    found = log(opened_repository, revision="HEAD", limit=10, skip=0, file=None).commits
    assert [(commit.subject, commit.body) for commit in found] == [
        ("Zweiter: ü", ""),
        ("First", "With a body."),
    ]
    assert found[0].parents == [found[1].id] and found[0].author_email == "ada@example.org"
    assert [
        c.subject for c in log(opened_repository, revision="main", limit=1, skip=1, file=None).commits
    ] == ["First"]
    only = log(opened_repository, revision="HEAD", limit=10, skip=0, file="long.txt").commits
    assert [commit.subject for commit in only] == ["First"]


@pytest.mark.clause("changes-git-fs-root", "decision-48")
def test_a_directory_that_turns_into_a_link_after_the_list_is_not_followed(
    bounded: Workspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("SECRET")
    root = new_repository(home / "repo")
    (root / "d").mkdir()
    (root / "d" / "file").write_text("fine")
    repository = Repository(bounded, str(root), GitLimits(), {})
    run = repository.run

    def then_swap(*arguments: str) -> tuple[bytes, bool]:
        output = run(*arguments)
        if "ls-files" in arguments:
            (root / "d").rename(root / "moved")
            (root / "d").symlink_to(tmp_path / "outside")
        return output

    monkeypatch.setattr(repository, "run", then_swap)
    found = diff(repository, base="HEAD", staged=False, file=None, context=3)
    assert [file.path for file in found.files] == ["d/file"]
    assert "SECRET" not in str(found)
