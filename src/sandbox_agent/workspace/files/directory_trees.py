"""Removing and copying whole directory trees.

Both follow no link and work relative to open directories, so a directory that is replaced by a link in the
meantime is never entered. Both report progress for each entry, and a copy also for each piece.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.file_metadata import copy_owner_and_mode
from sandbox_agent.workspace.paths.open_flags import CREATE_FILE, READ_DIRECTORY, READ_FILE

MAX_DEPTH = 256  # each level holds a file descriptor or two
_PASSES = 64  # over a directory that other processes keep filling while it is emptied
_COPY_PIECE = 64 << 20


def remove(parent: int, name: str, progress: ProgressToken) -> None:
    """Remove a tree, a file, or a link itself."""
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if modes.S_ISDIR(found.st_mode):
        _remove_directory(parent, name, progress, 0)
    else:
        os.unlink(name, dir_fd=parent)


def _remove_directory(parent: int, name: str, progress: ProgressToken, depth: int) -> None:
    refuse_too_deep(depth)
    directory = os.open(name, READ_DIRECTORY, dir_fd=parent)
    try:
        for _ in range(_PASSES):  # a scan may skip names while entries are removed
            if not _remove_names(directory, progress, depth):
                break
    finally:
        os.close(directory)
    os.rmdir(name, dir_fd=parent)


def _remove_names(directory: int, progress: ProgressToken, depth: int) -> int:
    removed = 0
    with os.scandir(directory) as names:
        for entry in names:
            progress.advance()
            removed += 1
            with contextlib.suppress(FileNotFoundError):
                if entry.is_dir(follow_symlinks=False):
                    _remove_directory(directory, entry.name, progress, depth + 1)
                else:
                    os.unlink(entry.name, dir_fd=directory)
    return removed


def copy(
    source_fd: int, source: str, target_fd: int, target: str, progress: ProgressToken, depth: int = 0
) -> None:
    """Copy a tree to a new name: content, links, modes and times, and the owner where permitted."""
    refuse_too_deep(depth)
    progress.advance()
    found = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    if modes.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source, dir_fd=source_fd), target, dir_fd=target_fd)
        with contextlib.suppress(PermissionError):
            os.chown(target, found.st_uid, found.st_gid, dir_fd=target_fd, follow_symlinks=False)
    elif modes.S_ISDIR(found.st_mode):
        _copy_directory(source_fd, source, target_fd, target, progress, depth)
    elif modes.S_ISREG(found.st_mode):
        _copy_file(source_fd, source, target_fd, target, progress)
    else:
        raise InvalidRequest(f"a special file cannot move to another file system: {source}")


def _copy_directory(
    source_fd: int, source: str, target_fd: int, target: str, progress: ProgressToken, depth: int
) -> None:
    os.mkdir(target, 0o700, dir_fd=target_fd)
    inside = os.open(source, READ_DIRECTORY, dir_fd=source_fd)
    try:
        new = os.open(target, READ_DIRECTORY, dir_fd=target_fd)
        try:
            with os.scandir(inside) as names:
                for entry in names:
                    copy(inside, entry.name, new, entry.name, progress, depth + 1)
            _copy_metadata(os.fstat(inside), new)
        finally:
            os.close(new)
    finally:
        os.close(inside)


def _copy_file(source_fd: int, source: str, target_fd: int, target: str, progress: ProgressToken) -> None:
    old = os.open(source, READ_FILE, dir_fd=source_fd)
    try:
        new = os.open(target, CREATE_FILE, 0o600, dir_fd=target_fd)
        try:
            while os.sendfile(new, old, None, _COPY_PIECE):
                progress.advance()
                os.fdatasync(new)  # otherwise the final sync of a huge file would take long without progress
            _copy_metadata(os.fstat(old), new)
            os.fsync(new)
        finally:
            os.close(new)
    finally:
        os.close(old)


def _copy_metadata(found: os.stat_result, fd: int) -> None:
    copy_owner_and_mode(found, fd)
    os.utime(fd, ns=(found.st_atime_ns, found.st_mtime_ns))


def refuse_too_deep(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidRequest(f"the directory tree is deeper than {MAX_DEPTH} levels")
