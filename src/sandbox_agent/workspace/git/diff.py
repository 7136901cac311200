"""The difference between a commit and the work tree or the index, file by file."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from sandbox_agent.workspace.files.workspace import displayed
from sandbox_agent.workspace.git import untracked
from sandbox_agent.workspace.git.bodies import GitDiff, GitFileDiff, Status
from sandbox_agent.workspace.git.repository import EMPTY_TREE, Repository

_STATUS: Final[dict[str, Status]] = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "type",
}
_PATCH_START = re.compile(r"^(?=diff --git )", re.MULTILINE)
_SUBMODULE_MODE = "160000"
_SAFE_OPTIONS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--find-renames",
)


def diff(repository: Repository, *, base: str, staged: bool, file: str | None, context: int) -> GitDiff:
    """Changes since `base`: of the index with `staged`, else of the work tree with its untracked files."""
    commit = repository.commit(base)
    output, truncated = repository.run(
        "-C",
        repository.root,
        "diff",
        *_SAFE_OPTIONS,
        f"--unified={context}",
        "--raw",
        "--numstat",
        "--patch",
        "-z",
        *(("--cached",) if staged else ()),
        commit or EMPTY_TREE,
        "--",
        *((file,) if file is not None else ()),
    )
    files = _files(output, truncated)
    for file_diff in files:
        if file_diff.submodule:
            repository.refuse_submodule_outside(file_diff.path)
    if not staged and not truncated:
        more, truncated = untracked.files(repository, file, repository.limits.max_bytes - len(output))
        files += more
    return GitDiff(root=displayed(repository.root), base=commit, files=files, truncated=truncated)


def _files(output: bytes, truncated: bool) -> list[GitFileDiff]:
    """The files of `git diff --raw --numstat --patch -z`: one record each of the first two, then patches."""
    records = _Records(output)
    files: dict[str, GitFileDiff] = {}
    while (record := records.next()) is not None:
        if record.startswith(":"):
            if (file := _raw_record(record, records)) is not None:
                files.setdefault(file.path, file)
        elif record:
            _read_counts(record, records, files)
        else:
            break
    return _with_patches(list(files.values()), records.rest(), truncated)


class _Records:
    """Fields that end with NUL, followed by text; a field without its NUL is cut and not returned."""

    def __init__(self, output: bytes) -> None:
        self._output = output
        self._position = 0

    def next(self) -> str | None:
        end = self._output.find(b"\0", self._position)
        if end < 0:
            return None
        field = self._output[self._position : end]
        self._position = end + 1
        return displayed(field.decode("utf-8", "surrogateescape"))

    def rest(self) -> str:
        return self._output[self._position :].decode("utf-8", "replace")


def _raw_record(record: str, records: _Records) -> GitFileDiff | None:
    old_mode, new_mode, _, _, letter = record[1:].split(" ")
    path = records.next()
    original: str | None = None
    if letter[0] in "RC":
        original, path = path, records.next()
    if path is None:
        return None
    return GitFileDiff(
        path=path,
        original_path=UNSET if original is None else original,
        status=_STATUS.get(letter[0], "unmerged"),
        binary=False,
        submodule=_SUBMODULE_MODE in (old_mode, new_mode),
    )


def _read_counts(record: str, records: _Records, files: Mapping[str, GitFileDiff]) -> None:
    added, removed, path = record.split("\t", 2)
    if not path:  # Of a renamed file both paths follow.
        records.next()
        path = records.next() or ""
    file = files.get(path)
    if file is None:
        return
    if added == "-":
        file.binary = True
    else:
        file.added, file.removed = int(added), int(removed)


def _with_patches(files: list[GitFileDiff], text: str, truncated: bool) -> list[GitFileDiff]:
    """The files with their patches, which git writes in the order of the records.

    A file that was only touched has a record, because the index is not refreshed, but no patch: it is left
    out. A conflict has no patch either; a file whose type changed has two.
    """
    # A line inside a patch begins with a space, a sign or a backslash.
    patches = deque(_PATCH_START.split(text)[1:])
    changed: list[GitFileDiff] = []
    for file in files:
        start = f"diff --git a/{file.original_path or file.path} b/{file.path}\n"
        patch = ""
        while patches and patches[0].startswith(start):
            patch += patches.popleft()
        if patch and not file.binary:
            file.patch = patch
        if patch or truncated or file.status == "unmerged":
            changed.append(file)
    return changed
