"""Calls of C library functions that Python does not offer, with integer arguments."""

from __future__ import annotations

import ctypes


def call(name: str, *arguments: int) -> int | None:
    """Call the function `name`. Returns None if this C library does not have it."""
    try:
        function = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    result: int = function(*arguments)
    return result
