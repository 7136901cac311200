"""Installs the agent of the local form, with progress on stderr; stops when the editor has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sandbox_agent.cli.acp.editor import reader_gone

if TYPE_CHECKING:
    from sandbox_agent.agents.catalog.catalog import Catalog
    from sandbox_agent.agents.install.install_progress import Progress
    from sandbox_agent.agents.install.layout import InstallLayout
    from sandbox_agent.cli.acp.ending import Ending

# How often the end of the editor is looked for.
_POLL_S = 0.2


def install(catalog: Catalog, layout: InstallLayout, agent: str, ending: Ending) -> bool:
    """Install the agent; false if the editor ended first. Raises SandboxAgentError."""
    import asyncio  # here and below: loaded only if something has to be installed

    from sandbox_agent.agents.install.installer import Installer

    async def run() -> bool:
        installer = Installer(catalog, layout)
        job = asyncio.create_task(installer.install(agent, progress=_StderrProgress(agent)))
        try:
            while not job.done():
                if ending.exit_code is not None or reader_gone():
                    return False
                await asyncio.wait([job], timeout=_POLL_S)
            await job
            return True
        finally:
            job.cancel()
            await installer.aclose()
            await asyncio.wait([job])

    return asyncio.run(run())


class _StderrProgress:
    """One line on stderr for each step."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._step = ""

    def __call__(self, progress: Progress) -> None:
        if progress.step != self._step:
            self._step = progress.step
            click.echo(f"{self._agent}: {progress.message}", err=True)
