"""The wall clock. It can be set at any time, so it is shown to users and never measures a duration."""

from __future__ import annotations

import time

_LATEST_NS = 2**63 - 1


def now_ns() -> int:
    """Nanoseconds since 1970. A clock beyond the year 2262, which Python cannot read, stands still there."""
    try:
        return time.time_ns()
    except OverflowError:
        return _LATEST_NS


def now_ms() -> int:
    """Milliseconds since 1970."""
    return now_ns() // 1_000_000
