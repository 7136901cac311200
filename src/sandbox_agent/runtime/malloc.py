"""The thresholds of glibc's allocator for large blocks.

By default glibc returns every block of some hundred kilobytes to the kernel at once and asks for it again
with the next message. The kernel clears each page again, which costs more than all other work on a large
message. On the other hand, free memory between small living objects is never returned; `trim` returns it.
"""

from __future__ import annotations

from sandbox_agent.runtime import c_library

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
# Messages of up to a few megabytes use memory again that was freed before.
_REUSE_BELOW_BYTES = 32 * 1024 * 1024
_KEEP_FREE_BYTES = 64 * 1024 * 1024


def reuse_large_blocks() -> None:
    """Reuse the memory of large messages, if the C library can (glibc)."""
    c_library.call("mallopt", _M_MMAP_THRESHOLD, _REUSE_BELOW_BYTES)
    c_library.call("mallopt", _M_TRIM_THRESHOLD, _KEEP_FREE_BYTES)


def trim() -> None:
    """Return free memory to the kernel, if the C library can (glibc). Takes tens of milliseconds."""
    c_library.call("malloc_trim", 0)
