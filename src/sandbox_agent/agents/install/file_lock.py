"""A lock between processes: `flock` on a file, released by the kernel when the process dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_POLL_S = 0.1


@asynccontextmanager
async def file_lock(path: str, on_wait: Callable[[], None] | None = None) -> AsyncIterator[None]:
    """Hold the lock of `path` for the block; `on_wait` is called once if another process holds it."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        waited = False
        while not _try_lock(descriptor):
            if not waited and on_wait is not None:
                on_wait()
            waited = True
            await asyncio.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
