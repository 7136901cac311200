"""Writing a file so that nobody ever sees half of it.

The bytes go to a temporary file beside the target, are synced to disk, and replace the target in one rename.
Links are followed, the mode (and, where allowed, the owner) of an existing file is kept, special files are
refused unopened. `abort` leaves everything as it was: no temporary file, no parents that were made for it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat as modes
from collections.abc import Callable, Iterator

from sandbox_agent.errors import InvalidRequest, PreconditionFailed
from sandbox_agent.workspace.files import renameat2
from sandbox_agent.workspace.files.os_errors import telling
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.reads import etag_of
from sandbox_agent.workspace.files.root import Place
from sandbox_agent.workspace.files.temporary_file import TemporaryFile
from sandbox_agent.workspace.files.workspace import Workspace

_OVERWRITE = os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPY_PIECE = 1 << 20

Condition = Callable[[str | None], bool]
"""Takes the ETag of what is there now, None for nothing, and says whether to go on."""


class AtomicWrite:
    """One file being written: `begin`, `write`, `commit`, and `abort` in any case. One thread at a time."""

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
        self._place: Place | None = None
        self._temporary: TemporaryFile | None = None

    def begin(self) -> None:
        """Check the target and open the temporary file."""
        self._place = place = self._workspace.place(self.path, follow=True, make_parents=True)
        with telling(self.path):
            existing = self._check_target(place)
            self._temporary = file = TemporaryFile(place.parent, 0o666)
            if self._mode is not None:
                os.fchmod(file.fd, self._mode)
            elif existing is not None:
                _take_over(existing, file.fd)

    def write(self, data: bytes) -> None:
        assert self._temporary is not None  # noqa: S101 - begin() comes first
        with telling(self.path):
            self._temporary.write(memoryview(data))
        self.bytes_written += len(data)

    def commit(self, pulse: ProgressToken) -> None:
        """Put the new content in place.

        Raises:
            PreconditionFailed: the target is no longer what the condition asked for.
        """
        assert self._place is not None and self._temporary is not None  # noqa: S101 - after begin()
        with telling(self.path):
            os.fsync(self._temporary.fd)
            pulse.beat()
            self._put_in_place(self._place, self._temporary.give_name())
            self._temporary.name = ""
            self._place.created.clear()
            self.etag = etag_of(self._place.lstat())
            _sync_directory(self._place.parent)

    def abort(self) -> None:
        """Leave everything as it was; after `commit`, only let go of what is open."""
        place, self._place = self._place, None
        if self._temporary is not None:
            self._temporary.discard()
        if place is not None:
            place.forget_created_parents()
            place.close()

    def _check_target(self, place: Place) -> os.stat_result | None:
        existing = place.lstat_or_none()
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

    def _put_in_place(self, place: Place, temporary: str) -> None:
        parent = place.parent
        if self._must_not_exist:
            try:
                renameat2.without_replacing(parent, temporary, parent, place.name)
            except FileExistsError:
                raise PreconditionFailed(f"the file exists already: {self.path}") from None
            return
        with _turn_taking(parent) if self._condition is not None else contextlib.nullcontext():
            self._check_target(place)
            try:
                os.rename(temporary, place.name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError as exc:
                if exc.errno != errno.EBUSY:
                    raise
                _overwrite_mount_point(place, temporary)


def _take_over(existing: os.stat_result, fd: int) -> None:
    """Mode, and owner where that is allowed."""
    with contextlib.suppress(PermissionError):
        os.fchown(fd, existing.st_uid, existing.st_gid)
    os.fchmod(fd, modes.S_IMODE(existing.st_mode))


def _overwrite_mount_point(place: Place, temporary: str) -> None:
    """A file that is itself a mount, as /etc/hosts in a container, can only be written in place."""
    source = os.open(temporary, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)
    try:
        target = os.open(place.name, _OVERWRITE, dir_fd=place.parent)
        try:
            while os.sendfile(target, source, None, _COPY_PIECE):
                pass
            os.fsync(target)
        finally:
            os.close(target)
    finally:
        os.close(source)
    os.unlink(temporary, dir_fd=place.parent)


@contextlib.contextmanager
def _turn_taking(directory: int) -> Iterator[None]:
    """Conditional writers of one directory go one by one, so that the check still holds at the rename."""
    import fcntl  # only conditional writes need it

    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _sync_directory(directory: int) -> None:
    """The rename is on disk too; a directory that cannot be read or synced is no failure of the write."""
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
