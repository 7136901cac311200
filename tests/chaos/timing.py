"""What came of something and after how long; what does not come within LIMIT_S hangs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from tests.support.clients.raw_http import ConnectionClosed

LIMIT_S = 10.0


def timed(work: Callable[[], object]) -> str:
    began = time.monotonic()
    try:
        came = work()
    except (TimeoutError, subprocess.TimeoutExpired):
        return f"nothing in {LIMIT_S:.0f} s"
    except (ConnectionClosed, OSError):
        came = "connection cut"
    return f"{came} after {time.monotonic() - began:.1f} s"
