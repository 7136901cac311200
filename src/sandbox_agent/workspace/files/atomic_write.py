"""Atomic replacement of a file.

The bytes go to a temporary file beside the target and are synced to disk. In one step the file then gets the
name of the target, or replaces an existing target.
Links are followed, the mode (and, where permitted, the owner) of an existing file is kept, special files are
refused without opening them. `abort` restores the initial state: no temporary file, no created parents.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat as modes
from collections.abc import Callable, Iterator

from sandbox_agent.errors import InvalidRequest, PreconditionFailed
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.file_metadata import copy_owner_and_mode, etag_of
from sandbox_agent.workspace.files.temporary_file import TemporaryFile
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.paths.os_errors import map_os_errors
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath

_OVERWRITE = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPY_PIECE = 1 << 20

Condition = Callable[[str | None], bool]
"""Takes the ETag of the existing file, None without one, and returns whether to write."""


class AtomicWrite:
    """A file being written: `begin`, `write`, `commit`, and `abort` in any case. One thread at a time."""

    def __init__(
        self,
        workspace: Workspace,
        path: str,
        *,
        mode: int | None = None,
        condition: Condition | None = None,
        must_not_exist: bool = False,
    ) -> None:
        self.path = workspace.absolute(path)
        self.bytes_written = 0
        self.etag = ""
        self._workspace = workspace
        self._mode = mode
        self._condition = condition
        self._must_not_exist = must_not_exist
        self._resolved: ResolvedPath | None = None
        self._temporary: TemporaryFile | None = None

    def begin(self) -> None:
        """Check the target and open the temporary file."""
        self._resolved = resolved = self._workspace.resolve(self.path, follow=True, make_parents=True)
        with map_os_errors(self.path):
            existing = self._check_target(resolved)
            self._temporary = file = TemporaryFile(resolved.parent, 0o666)
            if self._mode is not None:
                os.fchmod(file.fd, self._mode)
            elif existing is not None:
                copy_owner_and_mode(existing, file.fd)

    def write(self, data: bytes) -> None:
        assert self._temporary is not None  # noqa: S101 - begin() comes first
        with map_os_errors(self.path):
            self._temporary.write(memoryview(data))
        self.bytes_written += len(data)

    def commit(self, progress: ProgressToken) -> None:
        """Replace the target by the new content.

        Raises:
            PreconditionFailed: the target no longer meets the condition.
        """
        assert self._resolved is not None and self._temporary is not None  # noqa: S101 - after begin()
        with map_os_errors(self.path):
            os.fsync(self._temporary.fd)
            progress.advance()
            self._put_in_place(self._resolved, self._temporary)
            self._resolved.created.clear()
            self.etag = etag_of(self._resolved.lstat())
            _sync_directory(self._resolved.parent)

    def abort(self) -> None:
        """Restore the initial state; after `commit`, only close what is open."""
        resolved, self._resolved = self._resolved, None
        if self._temporary is not None:
            self._temporary.discard()
        if resolved is not None:
            resolved.remove_created_parents()
            resolved.close()

    def _check_target(self, resolved: ResolvedPath) -> os.stat_result | None:
        existing = resolved.lstat_or_none()
        if existing is not None:
            if modes.S_ISDIR(existing.st_mode):
                raise InvalidRequest(f"path is a directory: {self.path}")
            if not modes.S_ISREG(existing.st_mode):
                raise InvalidRequest(f"path is not a file: {self.path}")
            if self._must_not_exist:
                raise PreconditionFailed(f"the file exists already: {self.path}")
        if self._condition is not None and not self._condition(existing and etag_of(existing)):
            raise PreconditionFailed(f"the file is not the one asked for: {self.path}")
        return existing

    def _put_in_place(self, resolved: ResolvedPath, temporary: TemporaryFile) -> None:
        with _exclusive_lock(resolved.parent) if self._condition is not None else contextlib.nullcontext():
            if self._must_not_exist or self._check_target(resolved) is None:
                try:
                    temporary.place(resolved.name)
                    return
                except FileExistsError:
                    if self._must_not_exist:
                        raise PreconditionFailed(f"the file exists already: {self.path}") from None
            _replace(resolved, temporary.give_name())
            temporary.renamed()


def _replace(resolved: ResolvedPath, temporary: str) -> None:
    try:
        os.rename(temporary, resolved.name, src_dir_fd=resolved.parent, dst_dir_fd=resolved.parent)
    except OSError as exc:
        if exc.errno != errno.EBUSY:
            raise
        _overwrite_mount_point(resolved, temporary)


def _overwrite_mount_point(resolved: ResolvedPath, temporary: str) -> None:
    """Write a file that is itself a mount, as /etc/hosts in a container: it cannot be replaced."""
    source = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=resolved.parent)
    try:
        target = os.open(resolved.name, _OVERWRITE, dir_fd=resolved.parent)
        try:
            while os.sendfile(target, source, None, _COPY_PIECE):
                pass
            os.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(source)
    os.unlink(temporary, dir_fd=resolved.parent)


@contextlib.contextmanager
def _exclusive_lock(directory: int) -> Iterator[None]:
    """Conditional writes in one directory take turns, so that the check still holds at the rename."""
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _sync_directory(directory: int) -> None:
    """Sync the rename too; a directory that cannot be read or synced does not fail the write."""
    try:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)
