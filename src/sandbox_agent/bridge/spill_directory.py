"""The directory for spill files of one server, locked while the server lives.

Each server has a directory of its own below `<data>/spill`. A directory whose lock is free belonged to a
server that died without cleaning up; the next server removes it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_LOCK = "lock"


class SpillDirectory:
    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._lock_fd: int | None = None
        self.own = parent / f"{os.getpid()}-{os.urandom(4).hex()}"

    def claim(self) -> None:
        """Create and lock our directory, and remove what dead servers left. Raises OSError."""
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_leftovers()
        self.own.mkdir(mode=0o700)
        self._lock_fd = os.open(self.own / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)

    def _remove_leftovers(self) -> None:
        for directory in self._parent.iterdir():
            if _is_abandoned(directory):
                _remove(directory)

    def remove(self) -> None:
        """Remove our directory with everything in it; no harm if there is none."""
        _remove(self.own)
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None


def _remove(directory: Path) -> None:
    """The files, then the directory; nothing is deeper. What cannot be removed stays for the next server."""
    try:
        for file in directory.iterdir():
            file.unlink(missing_ok=True)
        directory.rmdir()
    except OSError:
        pass


def _is_abandoned(directory: Path) -> bool:
    try:
        fd = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return _is_old_without_lock(directory)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _is_old_without_lock(directory: Path) -> bool:
    """A directory without a lock file may be one that another server is just making."""
    try:
        pid = int(directory.name.partition("-")[0])
        os.kill(pid, 0)
    except (ValueError, OSError):
        return True
    return False
