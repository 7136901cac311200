"""Gives memory back to the system after many streams have ended.

A reader that replays from disk holds half a megabyte of blocks. When it leaves they are free, but the C
library keeps them between small things that live on, and a storm of readers would pile them up.
"""

from __future__ import annotations


def give_back() -> None:
    """Return free memory to the system where the C library can (glibc). Takes tens of milliseconds."""
    import ctypes  # needed only after a storm of readers

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
