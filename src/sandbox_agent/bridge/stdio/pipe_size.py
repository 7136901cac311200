"""Larger pipes for larger messages: each write or read that is cut short costs a turn of two processes.

The kernel gives each unprivileged user only so much room in pipes (64 MiB as a rule), so a pipe grows only
when a message asks for it, and in steps. Where the room is used up the small pipe works too.
"""

from __future__ import annotations

import fcntl

# What the kernel gives to every pipe.
USUAL_BYTES = 64 * 1024
_STEPS = (256 * 1024, 1024 * 1024)


def fit(fd: int, size: int) -> None:
    """See to it that `size` bytes find room at one go, as far as the steps go."""
    if size > USUAL_BYTES:
        wanted = next((step for step in _STEPS if size <= step), _STEPS[-1])
        try:
            if fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ) < wanted:
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, wanted)
        except OSError:
            pass
