"""`sandbox-agent completion SHELL`: a script for shell completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

COMPLETE_VARIABLE = "_SANDBOX_AGENT_COMPLETE"


@click.command(help="Print a script that completes the commands and options of sandbox-agent in SHELL.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    from sandbox_agent.cli.command_tree import root

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    source = kind(root, {}, "sandbox-agent", COMPLETE_VARIABLE)
    # `source.source()` would start a bash to check its version; bash need not be installed here.
    click.echo(source.source_template % source.source_vars())
