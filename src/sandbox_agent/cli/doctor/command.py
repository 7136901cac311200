"""`sandbox-agent doctor`: looks at this machine and says what is missing and how to get it."""

from __future__ import annotations

import click

from sandbox_agent.cli.output import OutputForm, output_option, print_json, wants_table

_MARKS = {"ok": ("ok     ", "green"), "note": ("note   ", "yellow"), "missing": ("MISSING", "red")}


@click.command()
@output_option
def doctor(output: OutputForm) -> int:
    """Say what is missing on this machine and how to get it.

    Exit code 1 if something is missing that the server needs; agents that are not installed and keys that
    were not found are only notes.
    """
    from sandbox_agent.cli.doctor.checks import examine

    findings = examine()
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
