"""The thread in which a batch writes: a slow disk does not hold up its event loop.

One thread, because each that has written Parquet keeps 3 to 6 MB: a program that only writes has 108 MB after
7,000 rows with the six threads of asyncio, 93 MB with one.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class WorkerThread:
    """Does one thing after the other."""

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, "rollouts output")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """A cancelled caller gets CancelledError after the end of the work: no file is closed under it."""
        work = asyncio.wrap_future(self._executor.submit(function, *args, **kwargs))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            while not work.done():
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([work])
            raise

    def run_blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return self._executor.submit(function, *args, **kwargs).result()

    def close(self) -> None:
        self._executor.shutdown()
