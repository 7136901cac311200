"""Bodies of the git endpoints. The OpenAPI schemas are generated from them."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Kind = Literal["changed", "renamed", "copied", "unmerged", "untracked"]
Status = Literal["added", "deleted", "modified", "renamed", "copied", "type", "unmerged", "untracked"]
State = Annotated[
    str,
    Meta(description="A letter of `git status`: M, T, A, D, R, C, U, or `.` for unchanged", max_length=1),
]
Count = Annotated[int, Meta(ge=0)]


class GitBranch(msgspec.Struct, rename="camel", kw_only=True):
    name: str | None
    """None when HEAD is detached."""
    commit: str | None
    """None before the first commit."""
    upstream: str | UnsetType = UNSET
    ahead: Count | UnsetType = UNSET
    behind: Count | UnsetType = UNSET


class GitEntry(msgspec.Struct, rename="camel", kw_only=True):
    """One changed file; paths are relative to the root of the repository."""

    path: str
    original_path: str | UnsetType = UNSET
    kind: Kind
    index: State
    worktree: State
    submodule: bool = False


class GitStatus(msgspec.Struct, rename="camel", kw_only=True):
    root: Annotated[str, Meta(description="The directory of the repository")]
    branch: GitBranch
    entries: list[GitEntry]
    truncated: Annotated[bool, Meta(description="There are more entries than the limit on the output")]


class GitFileDiff(msgspec.Struct, rename="camel", kw_only=True):
    """How one file differs."""

    path: str
    original_path: str | UnsetType = UNSET
    status: Status
    binary: Annotated[bool, Meta(description="Not text, or larger than 4 MiB: there is no patch")]
    submodule: bool = False
    added: Annotated[Count | UnsetType, Meta(description="Lines; absent for binary files")] = UNSET
    removed: Annotated[Count | UnsetType, Meta(description="Lines; absent for binary files")] = UNSET
    patch: Annotated[str | UnsetType, Meta(description="Unified diff; absent if there is none")] = UNSET


class GitDiff(msgspec.Struct, rename="camel", kw_only=True):
    root: str
    base: Annotated[str | None, Meta(description="The commit compared with; null before the first commit")]
    files: list[GitFileDiff]
    truncated: Annotated[bool, Meta(description="The limit on the output was reached: the rest is missing")]


class GitCommit(msgspec.Struct, rename="camel", kw_only=True):
    id: str
    parents: list[str]
    author_name: str
    author_email: str
    authored_at: Annotated[str, Meta(description="ISO 8601 with the author's offset")]
    subject: str
    body: str


class GitLog(msgspec.Struct, rename="camel", kw_only=True):
    root: str
    commits: list[GitCommit]
    truncated: bool
