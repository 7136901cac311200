"""Moving and renaming.

A move acts on a link itself. It checks everything before it changes anything, replaces its destination in one
step, and leaves the destination unchanged when it fails. On another file system it first copies beside the
destination. The home directory, the root and `/` are always refused.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat as modes
from collections.abc import Callable, Iterator

from sandbox_agent.errors import InvalidRequest, NotFound
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files import directory_trees, renameat2
from sandbox_agent.workspace.files.temporary_file import place_new, temporary_name
from sandbox_agent.workspace.files.workspace import Workspace, refuse_blank
from sandbox_agent.workspace.paths.os_errors import map_os_errors
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath

_Step = Callable[[int, str, int, str], None]
"""A rename: source directory and name, target directory and name."""


def move(
    workspace: Workspace, source: str, to: str, *, overwrite: bool, progress: ProgressToken
) -> tuple[str, str]:
    """Move `source` to `to`. Returns both absolute paths."""
    refuse_blank(source, "from")
    refuse_blank(to, "to")
    from_path, to_path = workspace.absolute(source), workspace.absolute(to)
    workspace.refuse_protected_name(from_path)
    with workspace.resolve(from_path, follow=False) as old:
        with map_os_errors(from_path):
            moved = old.lstat()
        workspace.refuse_protected(old, from_path)
        _check_destination(workspace, old, moved, to_path, overwrite=overwrite)
        with workspace.resolve(to_path, follow=False, make_parents=True) as new, map_os_errors(to_path):
            try:
                _move(old, moved, new, to_path, overwrite=overwrite, progress=progress)
            except BaseException:
                new.remove_created_parents()
                raise
    return from_path, to_path


def _check_destination(
    workspace: Workspace, old: ResolvedPath, moved: os.stat_result, to_path: str, *, overwrite: bool
) -> None:
    """Refuse everything that can be refused before parents are created or names change."""
    with _nearest_existing(workspace, to_path) as (resolved, exact), map_os_errors(to_path):
        if modes.S_ISDIR(moved.st_mode):
            inside = resolved.is_inside(moved)
            if not exact:  # the nearest existing directory itself is a parent of the destination
                found = resolved.lstat_or_none()
                inside = inside or (found is not None and os.path.samestat(found, moved))
            if inside:
                raise InvalidRequest(f"a directory cannot move into itself: {to_path}")
        existing = resolved.lstat_or_none() if exact else None
        if existing is None:
            return
        if not overwrite:
            raise InvalidRequest(f"destination already exists: {to_path}")
        workspace.refuse_protected(resolved, to_path)
        if (
            modes.S_ISDIR(existing.st_mode)
            and old.is_inside(existing)
            and not os.path.samestat(existing, moved)
        ):
            raise InvalidRequest(f"the source lies inside the destination: {to_path}")


@contextlib.contextmanager
def _nearest_existing(workspace: Workspace, absolute: str) -> Iterator[tuple[ResolvedPath, bool]]:
    """The path itself if its parents exist (True), else its nearest parent with existing parents (False)."""
    exact = True
    while True:
        try:
            resolved = workspace.resolve(absolute, follow=not exact)
        except NotFound:
            exact, absolute = False, os.path.dirname(absolute)
            continue
        with resolved:
            yield resolved, exact
        return


def _move(
    old: ResolvedPath,
    moved: os.stat_result,
    new: ResolvedPath,
    to_path: str,
    *,
    overwrite: bool,
    progress: ProgressToken,
) -> None:
    if not overwrite:
        try:
            _across_devices(renameat2.without_replacing, old, new, progress)
        except FileExistsError:
            raise InvalidRequest(f"destination already exists: {to_path}") from None
        return
    existing = new.lstat_or_none()
    if existing is not None and os.path.samestat(existing, moved):
        _drop_other_name(old, new)
        return
    _across_devices(functools.partial(_replace, progress), old, new, progress)


def _across_devices(step: _Step, old: ResolvedPath, new: ResolvedPath, progress: ProgressToken) -> None:
    """Run the renaming step; if the file systems differ, on a copy beside the destination."""
    try:
        step(old.parent, old.name, new.parent, new.name)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    copied = temporary_name()
    try:
        directory_trees.copy(old.parent, old.name, new.parent, copied, progress)
        try:
            place_new(new.parent, copied, new.name)
        except FileExistsError:
            step(new.parent, copied, new.parent, new.name)
    except BaseException:
        with contextlib.suppress(OSError):
            directory_trees.remove(new.parent, copied, ProgressToken())
        raise
    directory_trees.remove(old.parent, old.name, progress)


def _replace(progress: ProgressToken, source_fd: int, source: str, target_fd: int, target: str) -> None:
    """Rename over an existing destination, also over a full directory or another kind of file."""
    try:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        return
    except OSError as exc:
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR):
            raise
    if renameat2.swap(source_fd, source, target_fd, target):
        directory_trees.remove(source_fd, source, progress)  # the previous destination
        return
    aside = temporary_name()
    os.rename(target, aside, src_dir_fd=target_fd, dst_dir_fd=target_fd)
    try:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
    except BaseException:
        os.rename(aside, target, src_dir_fd=target_fd, dst_dir_fd=target_fd)
        raise
    directory_trees.remove(target_fd, aside, progress)


def _drop_other_name(old: ResolvedPath, new: ResolvedPath) -> None:
    """Both names are the same file: rename(2) would do nothing and keep both."""
    if os.path.samestat(os.fstat(old.parent), os.fstat(new.parent)) and old.name == new.name:
        return
    if not modes.S_ISDIR(old.lstat().st_mode):
        os.unlink(old.name, dir_fd=old.parent)
