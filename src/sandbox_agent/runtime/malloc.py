"""What the C library does with memory that is free again: keep a little at hand, give back a lot.

Left alone, glibc returns every block of some hundred kilobytes at once and asks for it anew with the next
message; the kernel then clears each page again, which costs more than all the rest of a large message. And
what many readers have left lies between small things that live on, and would pile up.
"""

from __future__ import annotations

from sandbox_agent.runtime import c_library

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
# Messages up to a few megabytes are made of memory that was used before.
_RECYCLED_BELOW_BYTES = 32 * 1024 * 1024
_KEPT_FREE_BYTES = 64 * 1024 * 1024


def keep_at_hand() -> None:
    """Use the memory of large messages again, where the C library can (glibc)."""
    c_library.call("mallopt", _M_MMAP_THRESHOLD, _RECYCLED_BELOW_BYTES)
    c_library.call("mallopt", _M_TRIM_THRESHOLD, _KEPT_FREE_BYTES)


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc). Takes tens of milliseconds."""
    c_library.call("malloc_trim", 0)
