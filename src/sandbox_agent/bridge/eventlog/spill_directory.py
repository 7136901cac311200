"""The spill directory of one server, locked while the server runs.

Each server has a directory of its own below `<data>/spill`. A directory whose lock is free belonged to a
server that was killed; the next server removes it.
"""

from __future__ import annotations

import fcntl
import os

_LOCK = "lock"


class SpillDirectory:
    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._lock_fd: int | None = None
        self.own = os.path.join(parent, f"{os.getpid()}-{os.urandom(4).hex()}")

    def claim(self) -> None:
        """Create and lock the directory, and remove those of killed servers. Raises OSError."""
        os.makedirs(self._parent, mode=0o700, exist_ok=True)
        for name in os.listdir(self._parent):
            directory = os.path.join(self._parent, name)
            if _is_abandoned(directory):
                _remove(directory)
        os.mkdir(self.own, mode=0o700)
        self._lock_fd = os.open(os.path.join(self.own, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the directory with its files, if it exists."""
        _remove(self.own)
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None


def _remove(directory: str) -> None:
    """Remove the files, then the directory. What cannot be removed stays for the next server."""
    try:
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)
    except OSError:
        pass


def _is_abandoned(directory: str) -> bool:
    try:
        fd = os.open(os.path.join(directory, _LOCK), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return _has_no_owner(directory)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _has_no_owner(directory: str) -> bool:
    """Whether the server of a directory without a lock file is dead; a starting one has no lock yet."""
    try:
        os.kill(int(os.path.basename(directory).partition("-")[0]), 0)
    except (ValueError, OSError):
        return True
    return False
