"""Returns memory to the system when the server has little to do.

Python frees most objects at once, but the C library keeps their memory, and a few objects wait for the
garbage collector. Every two seconds this module looks whether there is something to return: large parts have
ended (`ended`), the resident memory has grown since the last time, or a busy time has ended. It never works
during load: a busy server would need the same memory again, and collecting holds the loop for some
milliseconds.
"""

from __future__ import annotations

import gc
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.loop import Loop

_INTERVAL_S = 2.0
# The part of a processor that a server with little to do uses at most.
_IDLE_SHARE = 0.1
# The part that a server uses at most after a busy time, and the processor time that makes one. What the work
# held when memory was last returned has been freed since, without any growth to be seen.
_QUIET_SHARE = 0.02
_BUSY_S = 0.5
_GROWTH_BYTES = 4 * 1024 * 1024
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class MemoryRelease:
    def __init__(self, loop: Loop, ended: Callable[[], int]) -> None:
        """`ended` counts what has ended so far and may have held much memory."""
        self._loop = loop
        self._ended = ended
        self._ended_before = 0
        self._cpu_s = self._cpu_after = time.process_time()
        # Kept open: there may be no descriptor left when it is needed.
        self._statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        self._resident_after = self._resident_bytes()
        loop.call_later(_INTERVAL_S, self._check)

    def _resident_bytes(self) -> int:
        return int(os.pread(self._statm, 256, 0).split()[1]) * _PAGE_BYTES

    def _check(self) -> None:
        self._loop.call_later(_INTERVAL_S, self._check)
        before, self._cpu_s = self._cpu_s, time.process_time()
        used_s = self._cpu_s - before
        if used_s > _IDLE_SHARE * _INTERVAL_S:
            return
        ended = self._ended()
        if (
            ended != self._ended_before
            or self._resident_bytes() > self._resident_after + _GROWTH_BYTES
            or (used_s < _QUIET_SHARE * _INTERVAL_S and self._cpu_s > self._cpu_after + _BUSY_S)
        ):
            try:
                from sandbox_agent.runtime import malloc  # loads ctypes
            except (OSError, ImportError):
                return  # Out of descriptors: the next time.
            self._ended_before = ended
            gc.collect()
            self._loop.in_thread(malloc.trim, self._released)

    def _released(self, *_: object) -> None:
        self._cpu_after = time.process_time()
        self._resident_after = self._resident_bytes()
