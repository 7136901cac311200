"""A directory and everything below it, watched for changes. Links are not followed.

A file that the server writes is one change: created, or modified if it replaces another. Its temporary names
are never reported.

All methods but `fileno` read the file system and are called in a thread, one at a time.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Set
from dataclasses import dataclass, field

from sandbox_agent.errors import OutOfDescriptors
from sandbox_agent.workspace.files.temporary_file import is_temporary_name
from sandbox_agent.workspace.files.workspace import Workspace, displayed
from sandbox_agent.workspace.paths.os_errors import OutsideRoot, map_os_errors
from sandbox_agent.workspace.watch import inotify
from sandbox_agent.workspace.watch.changes import ChangeKind, ChangeSet, FsChange
from sandbox_agent.workspace.watch.inotify import Inotify, InotifyEvent

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_WATCHES_LEFT = errno.ENOSPC
_UNNAMED = re.compile(r"#\d+")  # what the kernel calls a file without a name (O_TMPFILE)


@dataclass
class WatchReport:
    """What happened since the last look."""

    changes: list[FsChange] = field(default_factory=list)
    overflowed: bool = False
    """The kernel has dropped events, or there are too many: everything has to be read again."""
    ended: bool = False
    """The watched directory was deleted or moved away."""


class DirectoryWatch:
    """Watches `path`; directories named in `excluded` are left out at any depth."""

    def __init__(
        self, workspace: Workspace, path: str, *, recursive: bool, excluded: Set[str], max_directories: int
    ) -> None:
        """Raises SandboxAgentError if the directory cannot be watched."""
        self.path = workspace.absolute(path)
        self.is_complete = True
        """False when there are more directories than may be watched."""
        self._workspace = workspace
        self._recursive = recursive
        self._excluded = excluded
        self._max_directories = max_directories
        self._paths: dict[int, str] = {}
        self._replaced: dict[int, str] = {}
        """What had the name that the last rename has given: deleted, or exchanged by a second rename."""
        self._last_rename = ("", "")
        self._changes = ChangeSet()
        try:
            self._inotify = Inotify()
        except OSError as error:
            raise OutOfDescriptors() from error
        try:
            with map_os_errors(self.path):
                self._watch_tree(self.path, is_start=True)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._inotify.fileno()

    @property
    def directories(self) -> int:
        return len(self._paths)

    def close(self) -> None:
        self._inotify.close()

    def take(self) -> WatchReport:
        """Read what the kernel has reported."""
        report = WatchReport()
        moved: dict[int, tuple[str, bool]] = {}
        for event in self._inotify.read():
            if event.mask & inotify.OVERFLOW:
                report.overflowed = True
            elif event.mask & inotify.IGNORED:
                self._paths.pop(event.watch, None)
                self._replaced.pop(event.watch, None)
            elif (directory := self._paths.get(event.watch)) is None:
                continue  # Of a watch that was removed meanwhile.
            elif event.mask & (inotify.DELETE_SELF | inotify.MOVE_SELF):
                report.ended = report.ended or directory == self.path
            elif event.name not in self._excluded:
                self._entry_changed(os.path.join(directory, event.name), event, moved)
        for path, is_directory in moved.values():  # The other half is outside.
            if not is_temporary_name(os.path.basename(path)):
                self._moved_away(path, is_directory)
        if report.overflowed:
            self._watch_again()
        report.changes, too_many = self._changes.take()
        report.overflowed = report.overflowed or too_many
        return report

    def _entry_changed(self, path: str, event: InotifyEvent, moved: dict[int, tuple[str, bool]]) -> None:
        is_directory = bool(event.mask & inotify.IS_DIRECTORY)
        if event.mask & inotify.MOVED_FROM:
            moved[event.cookie] = (path, is_directory)
        elif event.mask & inotify.MOVED_TO and event.cookie in moved:
            previous, _ = moved.pop(event.cookie)
            self._moved(previous, path, is_directory)
        elif is_temporary_name(event.name):
            return
        elif event.mask & (inotify.CREATE | inotify.MOVED_TO):
            self._created(path, is_directory)
        elif event.mask & inotify.DELETE:
            self._add("deleted", path, is_directory)  # The kernel ends its watch and says so.
        elif not is_directory and not (_UNNAMED.fullmatch(event.name) and not os.path.lexists(path)):
            self._add("modified", path, is_directory)

    def _created(self, path: str, is_directory: bool) -> None:
        self._add("created", path, is_directory)
        if is_directory and self._recursive:
            self._watch_tree(path, is_start=False)

    def _moved(self, previous: str, path: str, is_directory: bool) -> None:
        was_temporary = is_temporary_name(os.path.basename(previous))
        if is_temporary_name(os.path.basename(path)):
            # What is there already has taken its place in the same step: it was reported as created.
            if not was_temporary and not os.path.lexists(previous):
                self._moved_away(previous, is_directory)
        elif not was_temporary:
            self._rename_watches(previous, path)
            self._add("renamed", path, is_directory, previous)
        elif is_directory:
            self._forget(path)
            self._created(path, is_directory)
        else:
            self._add("modified", path, is_directory)  # A new file has no temporary name: `place_new`.

    def _add(self, kind: ChangeKind, path: str, is_directory: bool, previous: str | None = None) -> None:
        change = FsChange(path=displayed(path), kind=kind, entry_type="directory" if is_directory else "file")
        if previous is not None:
            change.previous_path = displayed(previous)
        self._changes.add(change)

    def _moved_away(self, path: str, is_directory: bool) -> None:
        self._add("deleted", path, is_directory)
        if is_directory:
            self._forget(path)

    def _forget(self, path: str) -> None:
        for watch in self._take_below(path):
            self._inotify.remove(watch)

    def _rename_watches(self, previous: str, path: str) -> None:
        if self._last_rename == (path, previous) and self._replaced:  # RENAME_EXCHANGE: two renames
            moved, self._replaced = self._replaced, {}
        else:
            self._replaced = self._take_below(path)
            moved = self._take_below(previous)
        self._last_rename = (previous, path)
        self._paths.update((watch, path + watched[len(previous) :]) for watch, watched in moved.items())

    def _take_below(self, path: str) -> dict[int, str]:
        below = [
            watch
            for watch, watched in self._paths.items()
            if watched == path or watched.startswith(path + "/")
        ]
        return {watch: self._paths.pop(watch) for watch in below}

    def _watch_again(self) -> None:
        """After lost events: directories may have come or gone without being noticed."""
        before = self._paths
        self._paths = {watch: path for watch, path in before.items() if path == self.path}
        try:
            self._watch_tree(self.path, is_start=True)
        except OSError:
            pass  # It is gone; its own event ends the watch.
        for watch in before.keys() - self._paths.keys():
            self._inotify.remove(watch)

    def _watch_tree(self, path: str, *, is_start: bool) -> None:
        """Watch a directory and those below it. What a new directory already contains is reported."""
        pending = [path]
        while pending:
            current = pending.pop()
            try:
                with self._open(current) as directory:
                    if not self._watch(directory.fd, current):
                        return
                    for entry in os.scandir(directory.fd) if self._recursive or not is_start else ():
                        child = os.path.join(current, entry.name)
                        if entry.name in self._excluded or is_temporary_name(entry.name):
                            continue
                        is_directory = entry.is_dir(follow_symlinks=False)
                        if not is_start:
                            self._add("created", child, is_directory)
                        if is_directory:
                            pending.append(child)
            except OSError:
                if is_start and current == path:
                    raise
                # Removed meanwhile, or not readable: its parent reports what happens to it.

    def _watch(self, directory: int, path: str) -> bool:
        if len(self._paths) >= self._max_directories:
            self.is_complete = False
            return False
        try:
            self._paths[self._inotify.add(directory)] = path
        except OSError as error:
            if error.errno != _NO_WATCHES_LEFT:
                raise
            self.is_complete = False
            return False
        return True

    def _open(self, path: str) -> _OpenDirectory:
        follow = (
            path == self.path
        )  # The directory of the request may be a link; those below are not followed.
        try:
            with self._workspace.root.walk(self._workspace.root.relative(path), follow=follow) as resolved:
                return _OpenDirectory(os.open(resolved.name, _DIRECTORY, dir_fd=resolved.parent))
        except OutsideRoot:
            if follow:
                raise
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT)) from None


class _OpenDirectory:
    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __enter__(self) -> _OpenDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
