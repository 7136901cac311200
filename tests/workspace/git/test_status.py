from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec import UNSET

from sandbox_agent.errors import InvalidRequest, NotFound, PermissionDenied
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.git.bodies import GitStatus
from sandbox_agent.workspace.git.git_command import GitLimits
from sandbox_agent.workspace.git.repository import Repository
from sandbox_agent.workspace.git.status import status
from tests.support.git_repository import git, new_repository

pytestmark = pytest.mark.process


def status_of(workspace: Workspace, path: Path, limits: GitLimits | None = None) -> GitStatus:
    return status(Repository(workspace, str(path), limits or GitLimits(), {}))


def states(found: GitStatus) -> dict[str, str]:
    return {entry.path: entry.index + entry.worktree for entry in found.entries}


@pytest.mark.clause("changes-git-status")
def test_every_kind_of_change_is_listed_with_its_path(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    (repository / "a.txt").write_text("changed\n")
    git(repository, "mv", "long.txt", "näme with space\tand tab")
    (repository / "picture.png").unlink()
    (repository / "new directory").mkdir()
    (repository / "new directory" / "new").write_text("x")
    (repository / "staged").write_text("x")
    git(repository, "add", "staged")
    found = status_of(workspace, repository / "new directory")
    assert found.root == str(repository) and not found.truncated
    assert (found.branch.name, found.branch.commit) == ("main", git(repository, "rev-parse", "HEAD"))
    assert states(found) == {
        "a.txt": ".M",
        "näme with space\tand tab": "R.",
        "picture.png": ".D",
        "new directory/new": ".A",
        "staged": "A.",
    }
    kinds = {entry.path: (entry.kind, entry.original_path) for entry in found.entries}
    assert kinds["näme with space\tand tab"] == ("renamed", "long.txt")
    assert kinds["new directory/new"] == ("untracked", UNSET)


@pytest.mark.clause("changes-git-status")
def test_conflicts_detached_heads_and_upstreams_are_told(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    git(repository, "checkout", "--quiet", "-b", "other")
    (repository / "a.txt").write_text("other\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Other")
    git(repository, "checkout", "--quiet", "main")
    (repository / "a.txt").write_text("main\n")
    git(repository, "commit", "--quiet", "--all", "--message", "Main")
    git(repository, "branch", "--quiet", "--set-upstream-to=other")
    branch = status_of(workspace, repository).branch
    assert (branch.upstream, branch.ahead, branch.behind) == ("other", 1, 1)
    with pytest.raises(subprocess.CalledProcessError):  # the conflict
        git(repository, "merge", "other")
    assert [(entry.kind, entry.path) for entry in status_of(workspace, repository).entries] == [
        ("unmerged", "a.txt")
    ]
    git(repository, "merge", "--abort")
    git(repository, "checkout", "--quiet", "--detach")
    assert status_of(workspace, repository).branch.name is None


def test_a_repository_without_a_commit_has_a_status(workspace: Workspace, home: Path) -> None:
    (home / "empty").mkdir()
    git(home / "empty", "init", "--quiet")
    (home / "empty" / "a").write_text("x")
    found = status_of(workspace, home / "empty")
    assert (found.branch.name, found.branch.commit, states(found)) == ("main", None, {"a": ".A"})


def test_a_submodule_is_one_entry(workspace: Workspace, home: Path) -> None:
    inner = new_repository(home / "inner")
    outer = new_repository(home / "outer")
    git(outer, "submodule", "--quiet", "add", str(inner), "sub")
    git(outer, "commit", "--quiet", "--message", "Submodule")
    (outer / "sub" / "a.txt").write_text("dirty\n")
    assert states(status_of(workspace, outer)) == {}
    git(outer / "sub", "commit", "--quiet", "--all", "--message", "Inside")
    entries = status_of(workspace, outer).entries
    assert [(entry.path, entry.submodule) for entry in entries] == [("sub", True)]


def test_a_name_that_is_not_utf8_is_shown_with_replacement_characters(
    workspace: Workspace, home: Path
) -> None:
    repository = new_repository(home / "repo")
    (repository / "\udcff").write_text("x")
    assert [entry.path for entry in status_of(workspace, repository).entries] == ["\N{REPLACEMENT CHARACTER}"]


@pytest.mark.clause("changes-git-limits")
def test_output_above_the_limit_is_cut_at_a_whole_entry_and_said(workspace: Workspace, home: Path) -> None:
    repository = new_repository(home / "repo")
    for number in range(200):
        (repository / f"file-{number:03}").write_text("x")
    found = status_of(workspace, repository, GitLimits(max_bytes=1000))
    assert found.truncated and 0 < len(found.entries) < 200
    assert all(len(entry.path) == len("file-000") for entry in found.entries)


@pytest.mark.clause("changes-git-no-repository")
def test_a_directory_without_a_repository_is_not_found(workspace: Workspace, home: Path) -> None:
    (home / "plain").mkdir()
    with pytest.raises(NotFound, match="no git work tree"):
        status_of(workspace, home / "plain")
    with pytest.raises(NotFound):
        status_of(workspace, home / "missing")


@pytest.mark.clause("changes-git-fs-root", "decision-48")
@pytest.mark.parametrize("trick", ["above", "gitdir", "worktree", "alternates", "link"])
def test_a_repository_that_leads_out_of_the_root_is_refused(
    bounded: Workspace, home: Path, tmp_path: Path, trick: str
) -> None:
    outside = new_repository(tmp_path / "outside")
    inside = home / "inside"
    if trick == "above":
        git(tmp_path, "init", "--quiet")
        inside.mkdir()
    elif trick == "link":
        inside.symlink_to(outside)
    else:
        new_repository(inside)
        if trick == "gitdir":
            (inside / ".git").rename(inside / "old")
            (inside / ".git").write_text(f"gitdir: {outside}/.git\n")
        elif trick == "worktree":
            git(inside, "config", "core.worktree", str(outside))
        else:
            (inside / ".git/objects/info/alternates").write_text(f"{outside}/.git/objects\n")
    with pytest.raises((PermissionDenied, NotFound)) as refused:
        status_of(bounded, inside)
    assert isinstance(refused.value, NotFound) == (trick == "above")


@pytest.mark.clause("changes-git-fs-root", "decision-48")
@pytest.mark.parametrize("trick", ["worktree", "gitdir"])
def test_a_repository_that_turns_away_after_the_check_is_not_followed(
    bounded: Workspace, home: Path, tmp_path: Path, trick: str
) -> None:
    outside = new_repository(tmp_path / "outside")
    (outside / "secret").write_text("x")
    inside = new_repository(home / "inside")
    repository = Repository(bounded, str(inside), GitLimits(), {})
    if trick == "worktree":
        git(inside, "config", "core.worktree", str(outside))
    else:
        (inside / ".git").rename(home / "old")
        (inside / ".git").write_text(f"gitdir: {outside}/.git\n")
    try:
        found = status(repository)
    except InvalidRequest:
        return  # Its repository is gone.
    assert "secret" not in [entry.path for entry in found.entries]
