"""Changing names: mkdir, delete and move.

Delete and move act on a link itself. A move checks everything before it touches anything, replaces its
destination in one step, and leaves the destination as it was whenever it fails; on another file system it
copies beside the destination first. The home directory, the root and `/` are refused always.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat as modes
from collections.abc import Callable, Iterator

from sandbox_agent.errors import InvalidRequest, NotFound
from sandbox_agent.workspace.files import directory_trees, renameat2
from sandbox_agent.workspace.files.os_errors import telling
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.root import Place
from sandbox_agent.workspace.files.temporary_file import temporary_name
from sandbox_agent.workspace.files.workspace import Workspace

_Step = Callable[[int, str, int, str], None]
"""A rename: source directory and name, target directory and name."""


def mkdir(workspace: Workspace, path: str) -> str:
    """Make a directory and its parents; one that exists is fine. Returns the absolute path."""
    absolute = workspace.absolute(path)
    with workspace.place(absolute, follow=True, make_parents=True) as place, telling(absolute):
        try:
            os.mkdir(place.name, dir_fd=place.parent)
        except FileExistsError:
            if not modes.S_ISDIR(place.lstat().st_mode):
                raise InvalidRequest(f"path is not a directory: {absolute}") from None
    return absolute


def delete(workspace: Workspace, path: str, *, recursive: bool, pulse: ProgressToken) -> str:
    """Remove a file, a link, an empty directory, or with `recursive` a tree. Returns the absolute path."""
    _refuse_blank(path, "path")
    absolute = workspace.absolute(path)
    workspace.refuse_protected_name(absolute)
    with workspace.place(absolute, follow=False) as place, telling(absolute):
        found = place.lstat()
        if not modes.S_ISDIR(found.st_mode):
            os.unlink(place.name, dir_fd=place.parent)
            return absolute
        workspace.refuse_protected(place, absolute)
        if recursive:
            directory_trees.remove(place.parent, place.name, pulse)
        else:
            try:
                os.rmdir(place.name, dir_fd=place.parent)
            except OSError as exc:
                if exc.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise InvalidRequest(f"directory is not empty: {absolute}") from None
                raise
    return absolute


def move(
    workspace: Workspace, source: str, to: str, *, overwrite: bool, pulse: ProgressToken
) -> tuple[str, str]:
    """Move `source` to `to`. Returns both absolute paths."""
    _refuse_blank(source, "from")
    _refuse_blank(to, "to")
    from_path, to_path = workspace.absolute(source), workspace.absolute(to)
    workspace.refuse_protected_name(from_path)
    with workspace.place(from_path, follow=False) as old:
        with telling(from_path):
            moved = old.lstat()
        workspace.refuse_protected(old, from_path)
        _check_destination(workspace, old, moved, to_path, overwrite=overwrite)
        with workspace.place(to_path, follow=False, make_parents=True) as new, telling(to_path):
            try:
                _move(old, moved, new, to_path, overwrite=overwrite, pulse=pulse)
            except BaseException:
                new.forget_created_parents()
                raise
    return from_path, to_path


def _check_destination(
    workspace: Workspace, old: Place, moved: os.stat_result, to_path: str, *, overwrite: bool
) -> None:
    """Everything that can be refused, before parents are made or names change."""
    with _nearest_existing(workspace, to_path) as (place, exact), telling(to_path):
        if modes.S_ISDIR(moved.st_mode):
            inside = place.lies_in(moved)
            if not exact:  # the nearest existing directory itself is a parent of the destination
                found = place.lstat_or_none()
                inside = inside or (found is not None and _same(found, moved))
            if inside:
                raise InvalidRequest(f"a directory cannot move into itself: {to_path}")
        existing = place.lstat_or_none() if exact else None
        if existing is None:
            return
        if not overwrite:
            raise InvalidRequest(f"destination already exists: {to_path}")
        workspace.refuse_protected(place, to_path)
        if modes.S_ISDIR(existing.st_mode) and old.lies_in(existing) and not _same(existing, moved):
            raise InvalidRequest(f"the source lies inside the destination: {to_path}")


@contextlib.contextmanager
def _nearest_existing(workspace: Workspace, absolute: str) -> Iterator[tuple[Place, bool]]:
    """The place itself if its parents exist (True), else the nearest parent whose own parents do (False)."""
    exact = True
    while True:
        try:
            place = workspace.place(absolute, follow=not exact)
        except NotFound:
            exact, absolute = False, os.path.dirname(absolute)
            continue
        with place:
            yield place, exact
        return


def _move(
    old: Place, moved: os.stat_result, new: Place, to_path: str, *, overwrite: bool, pulse: ProgressToken
) -> None:
    if not overwrite:
        try:
            _across_devices(renameat2.without_replacing, old, new, pulse)
        except FileExistsError:
            raise InvalidRequest(f"destination already exists: {to_path}") from None
        return
    existing = new.lstat_or_none()
    if existing is not None and _same(existing, moved):
        _drop_other_name(old, new)
        return
    _across_devices(functools.partial(_replace, pulse), old, new, pulse)


def _across_devices(step: _Step, old: Place, new: Place, pulse: ProgressToken) -> None:
    """Run the renaming step; when the file systems differ, on a copy made beside the destination."""
    try:
        step(old.parent, old.name, new.parent, new.name)
        return
    except OSError as exc:
        if exc.errno != errno.EXDEV:
            raise
    copied = temporary_name()
    try:
        directory_trees.copy(old.parent, old.name, new.parent, copied, pulse)
        step(new.parent, copied, new.parent, new.name)
    except BaseException:
        with contextlib.suppress(OSError):
            directory_trees.remove(new.parent, copied, ProgressToken())
        raise
    directory_trees.remove(old.parent, old.name, pulse)


def _replace(pulse: ProgressToken, source_fd: int, source: str, target_fd: int, target: str) -> None:
    """Rename over whatever is there, also over a full directory or another kind of thing."""
    try:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
        return
    except OSError as exc:
        if exc.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR):
            raise
    if renameat2.swap(source_fd, source, target_fd, target):
        directory_trees.remove(source_fd, source, pulse)  # what was the destination until a moment ago
        return
    aside = temporary_name()
    os.rename(target, aside, src_dir_fd=target_fd, dst_dir_fd=target_fd)
    try:
        os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
    except BaseException:
        os.rename(aside, target, src_dir_fd=target_fd, dst_dir_fd=target_fd)
        raise
    directory_trees.remove(target_fd, aside, pulse)


def _drop_other_name(old: Place, new: Place) -> None:
    """Both names are one file already: rename(2) would do nothing and keep both."""
    if _same(os.fstat(old.parent), os.fstat(new.parent)) and old.name == new.name:
        return
    if not modes.S_ISDIR(old.lstat().st_mode):
        os.unlink(old.name, dir_fd=old.parent)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)


def _refuse_blank(path: str, name: str) -> None:
    if not path.strip():
        raise InvalidRequest(f"'{name}' must not be blank")
