"""Keeps a repository inside the file root: git follows links and files that name other places.

These are links anywhere in a directory of git, `commondir` of a linked work tree, `objects/info/alternates`
of every object store, and the file `.git` of a submodule. All places reached in this way are checked.
"""

from __future__ import annotations

import os
import stat

from sandbox_agent.errors import PermissionDenied
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.paths.os_errors import map_os_errors

# Far more than git itself writes.
_MAX_POINTER_BYTES = 64 * 1024
_POINTER_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_GITDIR = "gitdir: "


def refuse_outside(workspace: Workspace, place: str) -> str:
    """The real path of a place. Raises PermissionDenied if it is outside of the file root."""
    root, real = workspace.root.path.rstrip("/"), os.path.realpath(place)
    if real != root and not real.startswith(root + "/"):
        raise PermissionDenied(real, "the repository leads out of the file root (--fs-root)")
    return real


def refuse_ways_out(workspace: Workspace, *places: str) -> None:
    """Check files and directories of git, and all others that git reads because of them."""
    pending, seen = list(places), set[str]()
    while pending:
        real = refuse_outside(workspace, pending.pop())
        if real not in seen:
            seen.add(real)
            with map_os_errors(real):
                pending += _named_by(real)


def _named_by(place: str) -> list[str]:
    """What a directory contains as far as it can lead elsewhere, or what a file names."""
    try:
        found = os.lstat(place)
        if not stat.S_ISDIR(found.st_mode):
            return _named_by_file(place)
        with os.scandir(place) as entries:
            return [
                entry.path
                for entry in entries
                if entry.is_symlink()
                or entry.is_dir(follow_symlinks=False)
                or entry.name in ("commondir", "alternates")
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []  # A link to nothing, or removed since it was listed.


def _named_by_file(file: str) -> list[str]:
    directory, name = os.path.split(file)
    if name == "commondir":
        return [os.path.join(directory, _read(file).rstrip("\r\n"))]
    if name == ".git":
        return [os.path.join(directory, _read(file).rstrip("\r\n").removeprefix(_GITDIR))]
    if name == "alternates" and os.path.basename(directory) == "info":
        lines = [line for line in _read(file).split("\n") if line and not line.startswith("#")]
        if any(line.startswith('"') for line in lines):
            raise PermissionDenied(file, "quoted paths of object stores are not read with --fs-root")
        named = [os.path.join(os.path.dirname(directory), line) for line in lines]
        # Some versions of git take away `..` before they follow links.
        return named + [os.path.normpath(path) for path in named]
    return []


def _read(file: str) -> str:
    """The text of a file that git reads as a whole. A special file would block it, or never end."""
    descriptor = os.open(file, _POINTER_FLAGS)
    with open(descriptor, "rb") as opened:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            text = opened.read(_MAX_POINTER_BYTES + 1)
            if len(text) <= _MAX_POINTER_BYTES and b"\0" not in text:
                return text.decode("utf-8", "surrogateescape")
    raise PermissionDenied(file, "not a file of git")
