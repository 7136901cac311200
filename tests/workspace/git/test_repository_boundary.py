"""A repository below the file root that names places outside, in each way that git follows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest, PermissionDenied
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.git.diff import diff
from sandbox_agent.workspace.git.git_command import GitLimits
from sandbox_agent.workspace.git.log import log
from sandbox_agent.workspace.git.repository import Repository
from sandbox_agent.workspace.git.status import status
from tests.support.git_repository import git, new_repository

pytestmark = pytest.mark.process

Trick = Callable[[Path, Path], object]
"""Turns the repository (first) so that git reads the one outside (second)."""


def alternates(repository: Path, text: str) -> None:
    (repository / ".git/objects/info/alternates").write_text(text)


def quoted(repository: Path, outside: Path) -> None:
    alternates(repository, f'"{outside}/.git\\057objects"\n')


def store_of_a_store(repository: Path, outside: Path) -> None:
    store = repository / "store"
    (store / "info").mkdir(parents=True)
    (store / "info/alternates").write_text(f"# a comment\n{outside}/.git/objects\n")
    alternates(repository, "../../store\n")


def dots_in_the_text(repository: Path, outside: Path) -> None:
    """As versions of git read it that do not follow `deep` before `..` takes it away."""
    (repository / "1/2/3/4/5/6/7/8").mkdir(parents=True)
    (repository / ".git/objects/deep").symlink_to("../../1/2/3/4/5/6/7/8")
    alternates(repository, f"deep/../../../../../{outside.name}/.git/objects\n")


def dots_behind_a_link(repository: Path, outside: Path) -> None:
    (repository / ".git/objects/root").symlink_to("../../..")
    alternates(repository, f"root/../{outside.name}/.git/objects\n")


def common_directory(repository: Path, outside: Path) -> None:
    common, own = repository / "common", repository / "own"
    (repository / ".git").rename(common)
    own.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text("../common\n")
    (repository / ".git").write_text("gitdir: own\n")
    (common / "objects/info/alternates").write_text(f"{outside}/.git/objects\n")


def link_to_packs(repository: Path, outside: Path) -> None:
    git(outside, "gc", "--quiet")
    (repository / ".git/objects/pack").rmdir()
    (repository / ".git/objects/pack").symlink_to(outside / ".git/objects/pack")


def link_behind_a_link(repository: Path, outside: Path) -> None:
    git(outside, "gc", "--quiet")
    packs = repository / ".git/objects/pack"
    packs.rmdir()
    (repository / "packs").mkdir()
    for pack in (outside / ".git/objects/pack").iterdir():
        (repository / "packs" / pack.name).symlink_to(pack)
    packs.symlink_to("../../packs")


def link_to_the_index(repository: Path, outside: Path) -> None:
    (repository / ".git/index").unlink()
    (repository / ".git/index").symlink_to(outside / ".git/index")


def included_configuration(repository: Path, outside: Path) -> None:
    git(repository, "config", "include.path", str(outside / ".git/config"))


def read_everything(repository: Repository, revision: str = "HEAD") -> str:
    return str(
        (
            status(repository),
            diff(repository, base=revision, staged=False, file=None, context=3),
            log(repository, revision=revision, limit=10, skip=0, file=None),
        )
    )


@pytest.mark.clause("changes-git-fs-root", "decision-48", "security-paths-and-archives")
@pytest.mark.parametrize(
    "trick",
    [
        quoted,
        store_of_a_store,
        dots_in_the_text,
        dots_behind_a_link,
        common_directory,
        link_to_packs,
        link_behind_a_link,
        link_to_the_index,
        included_configuration,
    ],
)
def test_a_repository_that_names_places_outside_is_refused(
    workspace: Workspace, bounded: Workspace, home: Path, tmp_path: Path, trick: Trick
) -> None:
    outside = new_repository(tmp_path / "outside")
    (outside / "secret").write_text("SECRET")
    git(outside, "add", "--all")
    git(outside, "commit", "--quiet", "--message", "Outside")
    secret = git(outside, "rev-parse", "HEAD")
    inside = new_repository(home / "inside")
    trick(inside, outside)
    if trick not in (dots_in_the_text, link_to_the_index, included_configuration):
        without_root = Repository(workspace, str(inside), GitLimits(), {})
        assert "SECRET" in read_everything(without_root, secret), "git itself follows"
    with pytest.raises(PermissionDenied):
        Repository(bounded, str(inside), GitLimits(), {})


@pytest.mark.clause("changes-git-fs-root", "decision-48")
@pytest.mark.parametrize("name", ["sub", os.fsdecode(b"s\xff")])
def test_a_submodule_that_is_a_repository_outside_is_refused(
    bounded: Workspace, home: Path, tmp_path: Path, name: str
) -> None:
    """Otherwise the diff would show which commit is checked out there."""
    outside = new_repository(tmp_path / "outside")
    git(outside, "commit", "--quiet", "--allow-empty", "--message", "Second")
    inside = new_repository(home / "inside")
    new_repository(inside / name)
    git(inside, "-c", "advice.addEmbeddedRepo=false", "add", "--all")
    git(inside, "commit", "--quiet", "--message", "Submodule")
    assert "160000" in git(inside, "ls-files", "--stage")
    shutil.rmtree(inside / name / ".git")
    (inside / name / ".git").write_text(f"gitdir: {outside}/.git\n")
    with pytest.raises(PermissionDenied):
        read_everything(Repository(bounded, str(inside), GitLimits(), {}))


@pytest.mark.clause("changes-git-fs-root")
def test_places_inside_the_root_are_read(bounded: Workspace, home: Path) -> None:
    """A linked work tree, a shared object store, and a submodule with a changed commit."""
    other, inside = new_repository(home / "other"), new_repository(home / "inside")
    git(inside, "clone", "--quiet", "--shared", str(other), "sub")
    git(inside, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    git(inside, "commit", "--quiet", "--message", "Submodule")
    git(inside / "sub", "commit", "--quiet", "--allow-empty", "--message", "More")
    git(inside, "worktree", "add", "--quiet", str(home / "linked"), "-b", "second")
    assert "Subproject commit" in read_everything(Repository(bounded, str(inside), GitLimits(), {}))
    assert "Submodule" in read_everything(Repository(bounded, str(home / "linked"), GitLimits(), {}))
    assert "First" in read_everything(Repository(bounded, str(inside / "sub"), GitLimits(), {}))


@pytest.mark.clause("changes-git-hostile", "changes-git-fs-root")
@pytest.mark.parametrize("kind", ["pipe", "endless", "NUL"])
def test_a_list_of_stores_that_is_no_text_is_refused_at_once(
    bounded: Workspace, home: Path, kind: str
) -> None:
    inside = new_repository(home / "inside")
    listing = inside / ".git/objects/info/alternates"
    if kind == "pipe":
        os.mkfifo(listing)
    elif kind == "endless":
        with listing.open("wb") as file:
            file.truncate(1 << 40)
    else:
        listing.write_bytes(b"/a\0b\n")
    with pytest.raises(PermissionDenied):
        Repository(bounded, str(inside), GitLimits(), {})


@pytest.mark.clause("changes-git-diff")
@pytest.mark.parametrize("read", ["diff", "log"])
def test_a_file_name_with_a_nul_is_refused(workspace: Workspace, home: Path, read: str) -> None:
    repository = Repository(workspace, str(new_repository(home / "repo")), GitLimits(), {})
    with pytest.raises(InvalidRequest):
        if read == "diff":
            diff(repository, base="HEAD", staged=False, file="a\0b", context=3)
        else:
            log(repository, revision="HEAD", limit=1, skip=0, file="a\0b")
