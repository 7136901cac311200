"""What the C library does with memory that is free again: keep a little at hand, give back a lot.

Left alone, glibc returns every block of some hundred kilobytes at once and asks for it anew with the next
message; the kernel then clears each page again, which costs more than all the rest of a large message. And
what many readers have left lies between small things that live on, and would pile up.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
# Messages up to a few megabytes are made of memory that was used before.
_RECYCLED_BELOW_BYTES = 32 * 1024 * 1024
_KEPT_FREE_BYTES = 64 * 1024 * 1024


def keep_at_hand() -> None:
    """Use the memory of large messages again, where the C library can (glibc)."""
    set_option = _function("mallopt")
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, _RECYCLED_BELOW_BYTES)
        set_option(_M_TRIM_THRESHOLD, _KEPT_FREE_BYTES)


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc). Takes tens of milliseconds."""
    trim = _function("malloc_trim")
    if trim is not None:
        trim(0)


def _function(name: str) -> Any:
    import ctypes  # not at every start: with the first agent, or after a storm of readers

    return getattr(ctypes.CDLL(None), name, None)
