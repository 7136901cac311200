"""Removing and copying whole directory trees through open directories.

Neither follows a link, and both work relative to directories that are held open, so a directory swapped for a
link in the meantime is never entered. Both beat the pulse for every entry, and while copying for every piece.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.progress_token import ProgressToken

MAX_DEPTH = 256  # each level holds a file descriptor or two
_PASSES = 64  # of a directory that others keep filling while it is emptied
_COPY_PIECE = 64 << 20
OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(parent: int, name: str, pulse: ProgressToken) -> None:
    """Remove whatever `name` is: a tree, a file, or a link itself."""
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if modes.S_ISDIR(found.st_mode):
        _remove_directory(parent, name, pulse, 0)
    else:
        os.unlink(name, dir_fd=parent)


def _remove_directory(parent: int, name: str, pulse: ProgressToken, depth: int) -> None:
    refuse_too_deep(depth)
    directory = os.open(name, OPEN_DIRECTORY, dir_fd=parent)
    try:
        for _ in range(_PASSES):  # names may be skipped while others are removed, so look again
            if not _remove_names(directory, pulse, depth):
                break
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)


def _remove_names(directory: int, pulse: ProgressToken, depth: int) -> int:
    removed = 0
    with os.scandir(directory) as names:
        for entry in names:
            pulse.beat()
            removed += 1
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    _remove_directory(directory, entry.name, pulse, depth + 1)
                else:
                    os.unlink(entry.name, dir_fd=directory)
    return removed


def copy(
    source_fd: int, source: str, target_fd: int, target: str, pulse: ProgressToken, depth: int = 0
) -> None:
    """Copy a tree to a name that does not exist yet: content, links, modes and times, owner where allowed."""
    refuse_too_deep(depth)
    pulse.beat()
    found = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    if modes.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source, dir_fd=source_fd), target, dir_fd=target_fd)
        with contextlib.suppress(PermissionError):
            os.chown(target, found.st_uid, found.st_gid, dir_fd=target_fd, follow_symlinks=False)
    elif modes.S_ISDIR(found.st_mode):
        _copy_directory(source_fd, source, target_fd, target, pulse, depth)
    elif modes.S_ISREG(found.st_mode):
        _copy_file(source_fd, source, target_fd, target, pulse)
    else:
        raise InvalidRequest(f"a special file cannot move to another file system: {source}")


def _copy_directory(
    source_fd: int, source: str, target_fd: int, target: str, pulse: ProgressToken, depth: int
) -> None:
    os.mkdir(target, 0o700, dir_fd=target_fd)
    inside = os.open(source, OPEN_DIRECTORY, dir_fd=source_fd)
    try:
        new = os.open(target, OPEN_DIRECTORY, dir_fd=target_fd)
        try:
            with os.scandir(inside) as names:
                for entry in names:
                    copy(inside, entry.name, new, entry.name, pulse, depth + 1)
            _take_over(os.fstat(inside), new)
        finally:
            os.close(new)
    finally:
        os.close(inside)


def _copy_file(source_fd: int, source: str, target_fd: int, target: str, pulse: ProgressToken) -> None:
    old = os.open(source, _OPEN_FILE, dir_fd=source_fd)
    try:
        new = os.open(target, _CREATE, 0o600, dir_fd=target_fd)
        try:
            while os.sendfile(new, old, None, _COPY_PIECE):
                pulse.beat()
                os.fdatasync(new)  # otherwise the last sync of a huge file would be long and silent
            _take_over(os.fstat(old), new)
            os.fsync(new)
        finally:
            os.close(new)
    finally:
        os.close(old)


def _take_over(found: os.stat_result, fd: int) -> None:
    with contextlib.suppress(PermissionError):
        os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, modes.S_IMODE(found.st_mode))
    os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))


def refuse_too_deep(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidRequest(f"the directory tree is deeper than {MAX_DEPTH} levels")
