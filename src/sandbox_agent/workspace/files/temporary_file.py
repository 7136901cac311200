"""A file that is being written and does not have its final name yet.

Where the file system supports O_TMPFILE it has no name until it is complete, so even a killed server leaves
nothing behind; elsewhere it has a hidden name beside its target, which `discard` removes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets

from sandbox_agent.workspace.files import renameat2
from sandbox_agent.workspace.paths.open_flags import CREATE_FILE

_UNNAMED = os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC
SYNC_EVERY = 64 << 20  # so that the final sync of a huge file does not take minutes without progress
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL)
_OWN_DESCRIPTORS = "/proc/self/fd"
_TEMPORARY_NAME = re.compile(r"\.sandbox-agent-[0-9a-f]{16}\.tmp")


def temporary_name() -> str:
    return f".sandbox-agent-{secrets.token_hex(8)}.tmp"


def is_temporary_name(name: str) -> bool:
    return _TEMPORARY_NAME.fullmatch(name) is not None


def place_new(parent: int, temporary: str, name: str) -> None:
    """Give a temporary file or link its final name, unless something has that name.

    A hard link and not a rename where possible: a watch of the directory sees a link as a new entry, while a
    rename does not say whether it replaces something.

    Raises:
        FileExistsError: something has the name; nothing was changed.
    """
    try:
        os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a directory, or a file system without hard links
        renameat2.without_replacing(parent, temporary, parent, name)
    else:
        os.unlink(temporary, dir_fd=parent)


class TemporaryFile:
    """An open file in the directory `parent`: `place` it, `give_name` and rename it, or `discard` it."""

    def __init__(self, parent: int, mode: int) -> None:
        self._parent = parent
        self._unsynced = 0
        self.name = ""
        self.fd = self._open(mode)

    def write(self, data: memoryview) -> None:
        while data:
            written = os.write(self.fd, data)
            self._unsynced += written
            data = data[written:]
        if self._unsynced >= SYNC_EVERY:
            os.fdatasync(self.fd)
            self._unsynced = 0

    def place(self, name: str) -> None:
        """Give it its final name, unless something has that name (FileExistsError)."""
        if self.name:
            place_new(self._parent, self.name, name)
            self.name = ""
        else:
            self._link(name)

    def give_name(self) -> str:
        """Give it a hidden name in the directory, from which it can be renamed, and return the name."""
        if not self.name:
            name = temporary_name()
            self._link(name)
            self.name = name
        return self.name

    def renamed(self) -> None:
        """Its hidden name has become another one, which `discard` leaves alone."""
        self.name = ""

    def discard(self) -> None:
        """Close it and remove its hidden name, if it has one; may be repeated."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        if self.name:
            with contextlib.suppress(OSError):
                os.unlink(self.name, dir_fd=self._parent)
            self.name = ""

    def _link(self, name: str) -> None:
        os.link(f"{_OWN_DESCRIPTORS}/{self.fd}", name, dst_dir_fd=self._parent, follow_symlinks=True)

    def _open(self, mode: int) -> int:
        if os.path.isdir(_OWN_DESCRIPTORS):
            try:
                return os.open(".", _UNNAMED, mode, dir_fd=self._parent)
            except OSError as exc:
                if exc.errno not in _UNSUPPORTED:
                    raise
        name = temporary_name()
        fd = os.open(name, CREATE_FILE, mode, dir_fd=self._parent)
        self.name = name
        return fd
