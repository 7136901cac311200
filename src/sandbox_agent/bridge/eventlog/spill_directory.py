"""The spill directory of one server, locked while the server runs.

Each server has a directory of its own below `<data>/spill`, named by its pid and a random number. A directory
whose lock is free belonged to a server that was killed; the next server removes it. It removes only files and
directories with names that servers give, and follows no links: whatever else is there belongs to the user.
"""

from __future__ import annotations

import fcntl
import os

_LOCK = "lock"
_RANDOM_BYTES = 4


class SpillDirectory:
    def __init__(self, parent: str) -> None:
        self._parent = parent
        self._lock_fd: int | None = None
        self._name = f"{os.getpid()}-{os.urandom(_RANDOM_BYTES).hex()}"
        self.own = os.path.join(parent, self._name)

    def claim(self) -> None:
        """Create and lock the directory, and remove those of killed servers. Raises OSError."""
        os.makedirs(self._parent, mode=0o700, exist_ok=True)
        for name in os.listdir(self._parent):
            if _is_server_name(name):
                _remove(self._parent, name, only_abandoned=True)
        os.mkdir(self.own, mode=0o700)
        self._lock_fd = os.open(os.path.join(self.own, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove the directory with its files, if it exists."""
        _remove(self._parent, self._name, only_abandoned=False)
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None


def _is_server_name(name: str) -> bool:
    """Whether a directory is named as `SpillDirectory` names them."""
    pid, _, random = name.partition("-")
    return _is_number(pid) and len(random) == 2 * _RANDOM_BYTES and set(random) <= set("0123456789abcdef")


def _is_spill_name(name: str) -> bool:
    """Whether a file is named as `Spill` names its segments, or is the lock."""
    spill, _, segment = name.partition("-")
    return name == _LOCK or (_is_number(spill) and _is_number(segment))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _remove(parent: str, name: str, only_abandoned: bool) -> None:
    """Remove the server's files, then the directory. What cannot be removed stays for the next server."""
    path = os.path.join(parent, name)
    try:
        directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return  # It is a file or a link, or there is none.
    try:
        if only_abandoned and not _is_abandoned(directory, name):
            return
        for file in os.listdir(directory):
            if _is_spill_name(file):
                os.unlink(file, dir_fd=directory)
        os.rmdir(path)
    except OSError:
        pass
    finally:
        os.close(directory)


def _is_abandoned(directory: int, name: str) -> bool:
    try:
        fd = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return _has_no_owner(name)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _has_no_owner(name: str) -> bool:
    """Whether the server of a directory without a lock file is dead; a starting one has no lock yet."""
    try:
        os.kill(int(name.partition("-")[0]), 0)
    except (OverflowError, OSError):
        return True
    return False
