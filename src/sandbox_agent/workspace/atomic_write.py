"""Writing a file so that nobody ever sees half of it.

The bytes go to a temporary file beside the target, are synced to disk, and replace the target in one rename.
Links are followed, the mode (and, where allowed, the owner) of an existing file is kept, special files are
refused unopened. `abort` leaves everything as it was: no temporary file, no parents that were made for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat as modes
from collections.abc import Callable, Iterator

from sandbox_agent.errors import InvalidRequest, PreconditionFailed
from sandbox_agent.workspace import rename
from sandbox_agent.workspace.os_errors import telling
from sandbox_agent.workspace.places import Workspace
from sandbox_agent.workspace.pulse import Pulse
from sandbox_agent.workspace.reading import etag_of

TEMPORARY_PREFIX = ".sandbox-agent-"
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Condition = Callable[[str | None], bool]
"""Takes the ETag of what is there now, None for nothing, and says whether to go on."""


def temporary_name() -> str:
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}.tmp"


class AtomicWrite:
    """One file being written. `write` any number of times, then `commit` or `abort`; one thread at a time."""

    def __init__(
        self,
        workspace: Workspace,
        absolute: str,
        *,
        mode: int | None = None,
        condition: Condition | None = None,
        must_not_exist: bool = False,
    ) -> None:
        self.path = absolute
        self.bytes_written = 0
        self._condition = condition
        self._must_not_exist = must_not_exist
        self._fd = -1
        self._place = workspace.place(absolute, follow=True, make_parents=True)
        self._temporary = ""
        try:
            with telling(absolute):
                existing = self._check_target()
                temporary = temporary_name()
                self._fd = os.open(temporary, _CREATE, 0o666, dir_fd=self._place.parent)
                self._temporary = temporary
                if mode is not None:
                    os.fchmod(self._fd, mode)
                elif existing is not None:
                    self._take_over(existing)
        except BaseException:
            self.abort()
            raise

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with telling(self.path):
            while view:
                written = os.write(self._fd, view)
                self.bytes_written += written
                view = view[written:]

    def commit(self, pulse: Pulse | None = None) -> None:
        """Put the new content in place.

        Raises:
            PreconditionFailed: the target is no longer what the condition asked for.
        """
        try:
            with telling(self.path):
                os.fsync(self._fd)
                if pulse is not None:
                    pulse.beat()
                self._put_in_place()
                self._temporary = ""
                self._place.created.clear()
                self._sync_directory()
        finally:
            self.abort()

    def abort(self) -> None:
        """Give up; harmless after `commit`."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._place.parent)
            self._temporary = ""
        if self._place.directories:
            self._place.forget_created_parents()
            self._place.close()

    def _check_target(self) -> os.stat_result | None:
        existing = self._place.lstat_or_none()
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

    def _take_over(self, existing: os.stat_result) -> None:
        with contextlib.suppress(PermissionError):
            os.fchown(self._fd, existing.st_uid, existing.st_gid)
        os.fchmod(self._fd, modes.S_IMODE(existing.st_mode))

    def _put_in_place(self) -> None:
        parent = self._place.parent
        if self._must_not_exist:
            try:
                rename.without_replacing(parent, self._temporary, parent, self._place.name)
            except FileExistsError:
                raise PreconditionFailed(f"the file exists already: {self.path}") from None
            return
        with self._lock():
            self._check_target()
            os.rename(self._temporary, self._place.name, src_dir_fd=parent, dst_dir_fd=parent)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Conditional writers of one directory take turns, so that the check still holds at the rename."""
        if self._condition is None:
            yield
            return
        import fcntl  # only conditional writes need it

        directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._place.parent)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)

    def _sync_directory(self) -> None:
        """The rename is on disk too; a directory that cannot be read or synced is no failure of the write."""
        try:
            directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._place.parent)
        except OSError:
            return
        try:
            os.fsync(directory)
        except OSError as exc:
            if exc.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
                raise
        finally:
            os.close(directory)
