"""The file descriptors of the server: their limit, and a few that are held in reserve.

The soft limit is raised to the hard one at start. Programs that the server starts get the original limit
back: some close every descriptor below it one by one, others cannot use numbers above 1023.
"""

from __future__ import annotations

import errno
import os
import resource

_EXHAUSTED = (errno.EMFILE, errno.ENFILE)

_original_soft: int | None = None


def ran_out(error: Exception) -> bool:
    """Whether the error may be that this process, or the system, has no descriptor left.

    A library that cannot be opened is an ImportError, which does not tell why.
    """
    return isinstance(error, ImportError) or (isinstance(error, OSError) and error.errno in _EXHAUSTED)


def raise_limit() -> None:
    """Raise the soft limit to the hard one."""
    global _original_soft
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        _original_soft = soft
    except (OSError, ValueError):
        pass  # The kernel allows fewer (fs.nr_open); the limit stays as it is.


def limit() -> int:
    """How many descriptors the server may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft if soft != resource.RLIM_INFINITY else 1 << 30


def original_limit() -> int:
    """The soft limit from before `raise_limit`; 0 if it has not been raised."""
    return _original_soft or 0


def restore_limit_of(pid: int) -> None:
    """Give a program that was just started the original soft limit."""
    if _original_soft is not None:
        try:
            _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (_original_soft, hard))
        except (OSError, ValueError):
            pass  # It has exited, or runs as another user: `ProcessLimits` sets the limit of such programs.


class DescriptorReserve:
    """Open descriptors that are closed when there is no other one left, and opened again later."""

    __slots__ = ("_held", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: list[int] = []
        self.refill()

    def release(self) -> bool:
        """Close the descriptors; false if none was held."""
        had_some = bool(self._held)
        while self._held:
            os.close(self._held.pop())
        return had_some

    def refill(self) -> bool:
        """Hold all descriptors again; false if there are not enough."""
        try:
            while len(self._held) < self._size:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        except OSError:
            return False
        return True
