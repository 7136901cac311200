"""The click side of the command line: every command but the two that must start quickly.

Exit codes: 0 it worked, 1 it did not, 2 the command line makes no sense, 130 interrupted. `run` and
`daemon status` have further ones, told in their help. What went wrong is always said on stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from sandbox_agent.cli.lazy_group import LazyGroup

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended


_ROOT = {
    "run": ("sandbox_agent.cli.run.command:run", "Ask an agent something, here and now."),
    "server": ("sandbox_agent.cli.server.click_commands:server", "Run the server in the foreground."),
    "daemon": ("sandbox_agent.cli.daemon.commands:daemon", "Run the server in the background."),
    "api": ("sandbox_agent.cli.api.group:api", "Call a running server."),
    "install-agent": ("sandbox_agent.cli.install_agent:install_agent", "Install agents on this machine."),
    "credentials": ("sandbox_agent.cli.credentials:credentials", "Show the keys this machine has."),
    "doctor": ("sandbox_agent.cli.doctor.command:doctor", "Say what is missing on this machine."),
    "completion": ("sandbox_agent.cli.completion:completion", "Print a shell completion script."),
    "adapter": (
        "sandbox_agent.cli.server.click_commands:adapter",
        "An ACP agent on stdio around a vendor's program.",
    ),
    "mock-agent": ("sandbox_agent.cli.server.click_commands:mock_agent", "The scripted ACP agent on stdio."),
}


@click.group(cls=LazyGroup, lazy=_ROOT, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="sandbox-agent", message="%(prog)s %(version)s")
def root() -> None:
    """One HTTP API for every coding agent."""


def run(words: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    # httpx would load its own command line, and rich with it, into every command that talks to a server.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    try:
        code = root.main(args=list(words), prog_name="sandbox-agent", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone. Python would complain about it once more while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        from sandbox_agent.cli.error_output import describe  # needs the client library, which is not small

        text = describe(error)
        if text is None:
            raise
        click.echo(text, err=True)
        return 1
    return code if isinstance(code, int) else 0
