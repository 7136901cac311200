"""`sandbox-agent completion SHELL`: a script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

COMPLETE_VARIABLE = "_SANDBOX_AGENT_COMPLETE"


@click.command(help="Print a script that teaches SHELL to complete sandbox-agent's commands and options.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    from sandbox_agent.cli.commands import root

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    source = kind(root, {}, "sandbox-agent", COMPLETE_VARIABLE)
    # Not `source.source()`: for bash that starts a bash to look at its version, which need not be here.
    click.echo(source.source_template % source.source_vars())
