"""Path resolution that never leaves a directory: openat, one component at a time.

A `Root` is an open directory. `walk` follows a path below it with `O_NOFOLLOW` opens and resolves symbolic
links itself, so a link that replaces a directory during the walk is seen and never followed by the kernel.
`..` returns to a directory that is already open, never through the file system. A path or link that climbs
above the root raises `OutsideRoot`, except where the root is `/` itself, as in POSIX.
"""

from __future__ import annotations

import errno
import os

from sandbox_agent.workspace.paths.open_flags import PASS_THROUGH
from sandbox_agent.workspace.paths.os_errors import OutsideRoot
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath

MAX_LINKS = 40  # as the kernel
MAX_DEPTH = 512  # every directory of the path is held open


class Root:
    """An open directory that paths cannot leave. `path` is its real absolute path."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self.fd = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)

    @classmethod
    def of_directory(cls, fd: int, path: str) -> Root:
        """A root on an open directory; `fd` is duplicated and stays with the caller."""
        root = cls.__new__(cls)
        root.path = path
        root.fd = os.dup(fd)
        return root

    def close(self) -> None:
        os.close(self.fd)

    def relative(self, absolute: str) -> str:
        """The part of an absolute path below the root."""
        if self.path == "/":
            return absolute.lstrip("/")
        if absolute == self.path or absolute.startswith(self.path + "/"):
            return absolute[len(self.path) + 1 :]
        raise OutsideRoot

    def walk(self, relative: str, *, follow: bool, make_parents: bool = False) -> ResolvedPath:
        """Resolve `relative`; with `follow` also links at its end, dangling ones too.

        Raises:
            OSError: as open(2) would, for a component on the way.
            OutsideRoot: the path or a link on it leads out.
        """
        return self.walk_from([self.fd], relative, follow=follow, make_parents=make_parents)

    def walk_from(
        self, start: list[int], relative: str, *, follow: bool, make_parents: bool = False
    ) -> ResolvedPath:
        """As `walk`, starting in the last of `start`: open directories from the root downwards."""
        pending = _components(relative)
        directories = [os.dup(fd) for fd in start]
        created: list[tuple[int, str]] = []
        names: list[str] = []  # of the directories entered here
        links = 0
        try:
            while pending:
                name = pending.pop()
                if name == "..":
                    if len(directories) > 1:
                        names = names[:-1]
                        os.close(directories.pop())
                        created = [entry for entry in created if entry[0] < len(directories)]
                    elif self.path != "/":
                        raise OutsideRoot
                    continue
                target = None
                if pending or follow:
                    target = _link_target(name, directories[-1])
                if target is not None:
                    links += 1
                    if links > MAX_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    if target.startswith("/"):
                        target = self.relative(target)
                        names = []
                        while len(directories) > 1:
                            os.close(directories.pop())
                    pending.extend(_components(target))
                    continue
                if not pending:
                    return ResolvedPath(directories, name, created)
                if len(directories) > MAX_DEPTH:
                    raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
                directories.append(_enter(name, directories, created if make_parents else None))
                names.append(name)
            if names:  # the path ended in `..` or in a link to a directory above
                os.close(directories.pop())
                return ResolvedPath(directories, names[-1], created)
            return ResolvedPath(directories, ".", created)
        except BaseException:
            for fd in directories:
                os.close(fd)
            raise


def _components(path: str) -> list[str]:
    """Names of `path` in reverse, so that the next one is popped from the end."""
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _link_target(name: str, directory: int) -> str | None:
    try:
        return os.readlink(name, dir_fd=directory)
    except OSError as exc:
        if exc.errno in (errno.EINVAL, errno.ENOENT):
            return None
        raise


def _enter(name: str, directories: list[int], created: list[tuple[int, str]] | None) -> int:
    try:
        return os.open(name, PASS_THROUGH, dir_fd=directories[-1])
    except FileNotFoundError:
        if created is None:
            raise
    try:
        os.mkdir(name, dir_fd=directories[-1])
    except FileExistsError:
        pass  # another request created it
    else:
        created.append((len(directories) - 1, name))
    return os.open(name, PASS_THROUGH, dir_fd=directories[-1])
