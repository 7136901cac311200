"""Report the size of a folder as progress while an installer fills it.

npm and pip have no machine-readable progress, but the catalogue knows the size of each agent.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.install.install_progress import Progress, ProgressListener

_INTERVAL_S = 0.7
_COMPLETE_PERCENT = 95
"""When all packages are installed; the rest is the first start."""


@asynccontextmanager
async def report_growth(folder: Path, spec: AgentSpec, report: ProgressListener) -> AsyncIterator[None]:
    """Report the size of `folder` every 0.7 s during the block."""
    task = asyncio.create_task(_report(folder, spec, report))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _report(folder: Path, spec: AgentSpec, report: ProgressListener) -> None:
    expected = (spec.size_mb or 0) * 1_000_000
    percent = 0
    while True:
        await asyncio.sleep(_INTERVAL_S)
        size = await asyncio.to_thread(_size, folder)
        if expected:
            percent = max(percent, min(_COMPLETE_PERCENT, size * _COMPLETE_PERCENT // expected))
        report(Progress("packages", f"installing {spec.name}", size, percent if expected else None))


def _size(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(where, name)).st_size
    return total
