"""Functions of the C library that Python does not offer, for whole numbers only.

Called through the C part of `ctypes`: the rest of it takes seven milliseconds to load, in which no message
would be handled.
"""

from __future__ import annotations


def call(name: str, *arguments: int) -> int | None:
    """What the function returns; None if this C library does not have it, or cannot be asked."""
    try:
        from _ctypes import call_function, dlopen, dlsym

        address = dlsym(dlopen(None, 0), name)  # type: ignore[arg-type]  # None: what is loaded already
    except (ImportError, OSError):
        return None
    result: int = call_function(address, arguments)
    return result
