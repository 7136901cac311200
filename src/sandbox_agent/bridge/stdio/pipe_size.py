"""Larger pipes for larger messages, because each partial write or read costs a turn of two processes.

The kernel limits the total size of all pipes of an unprivileged user (64 MiB by default), so a pipe grows
only when a message needs it, in steps. When the total is used up, the pipe keeps its size.
"""

from __future__ import annotations

import fcntl

# The kernel's size of a new pipe.
DEFAULT_BYTES = 64 * 1024
_STEPS = (256 * 1024, 1024 * 1024)


def fit(fd: int, size: int) -> None:
    """Grow the pipe so that `size` bytes fit in one write, up to the largest step."""
    if size > DEFAULT_BYTES:
        wanted = next((step for step in _STEPS if size <= step), _STEPS[-1])
        try:
            if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < wanted:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, wanted)
        except OSError:
            pass  # The user's total is used up.
