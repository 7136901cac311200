"""Show the progress of an install on stderr."""

from __future__ import annotations

import sys

import click

from sandbox_agent.sdk.resources.models import InstallProgress


def show_progress(progress: InstallProgress) -> None:
    percent = f"{progress.percent:>3}% " if progress.percent is not None else ""
    line = f"{percent}{progress.message}"
    if sys.stderr.isatty() and progress.step != "done":
        # A terminal gets one line that is overwritten.
        click.echo(f"\r\x1b[2K{line}", err=True, nl=False)
    else:
        click.echo(f"\r\x1b[2K{line}" if sys.stderr.isatty() else line, err=True)
