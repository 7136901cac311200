"""Responses of `/v1/git`. Paths are relative to `root`, the directory of the repository."""

from __future__ import annotations

from typing import Literal

import msgspec


class GitBranch(msgspec.Struct, rename="camel", frozen=True):
    """Where HEAD is; `name` is None when it is detached, `commit` before the first commit."""

    name: str | None
    commit: str | None
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None


class GitEntry(msgspec.Struct, rename="camel", frozen=True):
    """A changed file; `index` and `worktree` are the letters of `git status`."""

    path: str
    kind: Literal["changed", "renamed", "copied", "unmerged", "untracked"]
    index: str
    worktree: str
    original_path: str | None = None
    submodule: bool = False


class GitStatus(msgspec.Struct, rename="camel", frozen=True):
    """The branch and the changed files of a repository."""

    root: str
    branch: GitBranch
    entries: list[GitEntry]
    truncated: bool = False


class GitFileDiff(msgspec.Struct, rename="camel", frozen=True):
    """How one file differs; binary and very large files have neither counts nor a patch."""

    path: str
    status: Literal["added", "deleted", "modified", "renamed", "copied", "type", "unmerged", "untracked"]
    binary: bool
    original_path: str | None = None
    submodule: bool = False
    added: int | None = None
    removed: int | None = None
    patch: str | None = None


class GitDiff(msgspec.Struct, rename="camel", frozen=True):
    """What changed since `base`, file by file."""

    root: str
    base: str | None
    files: list[GitFileDiff]
    truncated: bool = False

    @property
    def patch(self) -> str:
        """All patches as one text, as `git apply` takes it; binary files are not part of it."""
        return "".join(file.patch or "" for file in self.files)


class GitCommit(msgspec.Struct, rename="camel", frozen=True):
    """One commit; `authored_at` is ISO 8601."""

    id: str
    parents: list[str]
    author_name: str
    author_email: str
    authored_at: str
    subject: str
    body: str
