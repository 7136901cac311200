"""Watch a folder grow while an installer fills it, and turn that into progress.

npm and pip do not say in a machine-readable way how far they are, but the size of every known agent is in
the catalogue, so bytes on disk are a fair measure.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.install.progress import Progress, ProgressListener

_INTERVAL_S = 0.7
_FULL = 95
"""Percent when all packages are there; the rest is the first start."""


@asynccontextmanager
async def watched(folder: Path, spec: AgentSpec, report: ProgressListener) -> AsyncIterator[None]:
    """Report the size of `folder` now and then during the block."""
    task = asyncio.create_task(_watch(folder, spec, report))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _watch(folder: Path, spec: AgentSpec, report: ProgressListener) -> None:
    expected = (spec.size_mb or 0) * 1_000_000
    percent = 0
    while True:
        await asyncio.sleep(_INTERVAL_S)
        size = await asyncio.to_thread(_size, folder)
        percent = max(percent, min(_FULL, size * _FULL // expected)) if expected else 0
        report(Progress("packages", f"installing {spec.name}", size, percent if expected else None))


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_size
    return total
