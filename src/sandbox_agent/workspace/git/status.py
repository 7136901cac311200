"""`git status` of a repository, read from its porcelain format (version 2, NUL-separated)."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox_agent.workspace.files.workspace import displayed
from sandbox_agent.workspace.git.bodies import GitBranch, GitEntry, GitStatus, Kind
from sandbox_agent.workspace.git.repository import Repository

# The number of space-separated fields before the path, by the first letter of a line.
_FIELDS = {"1": 8, "2": 9, "u": 10}


def status(repository: Repository) -> GitStatus:
    """Branch and changed files; untracked files are listed one by one, submodules are not entered."""
    output, truncated = repository.run(
        "status",
        "--porcelain=v2",
        "-z",
        "--branch",
        "--untracked-files=all",
        "--ignore-submodules=dirty",
        "--find-renames",
    )
    parts = output.decode("utf-8", "surrogateescape").split("\0")
    # The last part is empty, or cut in the middle.
    lines = iter(parts[:-1])
    branch = GitBranch(name=None, commit=None)
    entries: list[GitEntry] = []
    for line in lines:
        if line.startswith("# "):
            _read_branch(line, branch)
        elif (entry := _entry(line, lines)) is not None:
            entries.append(entry)
    return GitStatus(root=displayed(repository.root), branch=branch, entries=entries, truncated=truncated)


def _read_branch(line: str, branch: GitBranch) -> None:
    key, _, value = line.removeprefix("# ").partition(" ")
    if key == "branch.oid" and value != "(initial)":
        branch.commit = value
    elif key == "branch.head" and value != "(detached)":
        branch.name = displayed(value)
    elif key == "branch.upstream":
        branch.upstream = displayed(value)
    elif key == "branch.ab":
        ahead, behind = value.split()
        branch.ahead, branch.behind = int(ahead), -int(behind)


def _entry(line: str, following: Iterator[str]) -> GitEntry | None:
    first = line[:1]
    if first == "?":
        return GitEntry(path=displayed(line[2:]), kind="untracked", index=".", worktree="A")
    if first not in _FIELDS:
        return None
    *fields, path = line.split(" ", _FIELDS[first])
    states = fields[1]
    entry = GitEntry(
        path=displayed(path),
        kind=_kind(first, fields),
        index=states[0],
        worktree=states[1],
        submodule=fields[2].startswith("S"),
    )
    if first == "2":
        original = next(following, None)
        if original is None:
            return None  # The output ends between the two paths.
        entry.original_path = displayed(original)
    return entry


def _kind(first: str, fields: list[str]) -> Kind:
    if first == "u":
        return "unmerged"
    if first == "2":
        return "renamed" if fields[8].startswith("R") else "copied"
    return "changed"
