"""`sandbox-agent doctor`: check this machine and show what is missing and how to get it."""

from __future__ import annotations

import click

from sandbox_agent.cli.doctor.checks import run_checks
from sandbox_agent.cli.output import OutputFormat, output_option, print_json, wants_table

_MARKS = {"ok": ("ok     ", "green"), "note": ("note   ", "yellow"), "missing": ("MISSING", "red")}


@click.command()
@output_option
def doctor(output: OutputFormat) -> int:
    """Check what is missing on this machine and how to get it.

    The exit code is 1 if something is missing that the server needs. Agents that are not installed and keys
    that were not found are notes.
    """
    findings = run_checks()
    if wants_table(output):
        for finding in findings:
            mark, colour = _MARKS[finding.verdict]
            click.secho(mark, fg=colour, nl=False)
            click.echo(f"  {finding.subject}: {finding.fact}")
            if finding.remedy and finding.verdict != "ok":
                click.echo(f"           {finding.remedy}")
    else:
        print_json([finding.as_document() for finding in findings])
    return 1 if any(finding.verdict == "missing" for finding in findings) else 0
