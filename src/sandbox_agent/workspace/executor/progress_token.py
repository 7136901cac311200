"""Progress and cancellation of file work that runs in a thread.

Long work (a large copy, a recursive delete, an archive) calls `advance()` for each step. The waiter measures
the time without progress, not the total time, and may give up; the next `advance()` then raises
`OperationCancelled`, so that work whose caller already got a time-out changes nothing later.
"""

from __future__ import annotations

import time


class OperationCancelled(Exception):
    """The caller of this work has given up."""


class ProgressToken:
    """Shared by the thread that works and the waiter. Thread-safe."""

    def __init__(self) -> None:
        self._is_cancelled = False
        self.last = time.monotonic()
        """When the work last made progress."""

    def advance(self) -> None:
        """Report progress.

        Raises:
            OperationCancelled: the waiter has given up.
        """
        self.check_cancelled()
        self.last = time.monotonic()

    def check_cancelled(self) -> None:
        """Raise `OperationCancelled` if the waiter has given up; for work that waits without progress."""
        if self._is_cancelled:
            raise OperationCancelled

    def cancel(self) -> None:
        self._is_cancelled = True
