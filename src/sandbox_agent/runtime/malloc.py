"""Memory that glibc keeps after it was freed."""

from __future__ import annotations

from sandbox_agent.runtime import c_library


def trim() -> None:
    """Return free memory to the kernel, if the C library can (glibc). Takes tens of milliseconds."""
    c_library.call("malloc_trim", 0)
