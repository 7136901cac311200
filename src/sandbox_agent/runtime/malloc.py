"""Memory that glibc keeps after it was freed."""

from __future__ import annotations

from sandbox_agent.runtime import c_library

_M_ARENA_MAX = -8  # malloc.h


def share_one_heap() -> None:
    """Let new threads allocate where the main thread does.

    Otherwise each gets a heap of its own, whose end `trim` does not return: 1 to 2 MB for a thread.
    """
    c_library.call("mallopt", _M_ARENA_MAX, 1)


def trim() -> None:
    """Return free memory to the kernel, if the C library can (glibc). Takes tens of milliseconds."""
    c_library.call("malloc_trim", 0)
