"""Descriptors that this process was given by whoever started it, and that its children have no use for.

What the server opens itself closes by itself when another program is started. What it inherited stays open
in every child, and keeps a lock or a pipe of a stranger in use, unless the child is told to close it.
"""

from __future__ import annotations

import os

_OWN = 3  # below are the three that every child gets anew


def closing_inherited() -> list[tuple[int, int]]:
    """What makes a child of `os.posix_spawn` close them, as file actions."""
    actions = []
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if fd >= _OWN and os.get_inheritable(fd):
                actions.append((os.POSIX_SPAWN_CLOSE, fd))
        except OSError:
            pass  # It was the listing itself, or another thread has closed it.
    return actions
