"""Descriptors that the server inherited and its children must not.

Descriptors that the server opens are closed on exec. Inherited ones would stay open in every child and keep a
lock or a pipe of another program in use.
"""

from __future__ import annotations

import os

_FIRST_AFTER_STDERR = 3


def closing_inherited() -> list[tuple[int, int]]:
    """File actions for `os.posix_spawn` that close inherited descriptors in the child."""
    actions = []
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if fd >= _FIRST_AFTER_STDERR and os.get_inheritable(fd):
                actions.append((os.POSIX_SPAWN_CLOSE, fd))
        except OSError:
            pass  # It was the listing's own descriptor, or another thread closed it.
    return actions
