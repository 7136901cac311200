"""The commands of the click command line.

Exit codes: 0 success, 1 failure, 2 wrong usage, 130 interrupted. `run` and `daemon status` have further ones,
listed in their help. Errors are printed to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from sandbox_agent.cli.lazy_group import LazyGroup

INTERRUPTED = 130  # the exit code of shells for a program ended by Ctrl-C

_ROOT = {
    "run": ("sandbox_agent.cli.run.run_command:run", "Send one prompt to an agent and show the turn."),
    "acp": ("sandbox_agent.cli.acp.acp_command:acp", "Be an ACP agent on stdio, for editors."),
    "rollouts": (
        "sandbox_agent.cli.rollouts.rollouts_command:rollouts",
        "Run many tasks; show the results.",
    ),
    "export": ("sandbox_agent.cli.export:export", "Write transcripts of stored conversations."),
    "exec": ("sandbox_agent.cli.processes.exec_command:exec_command", "Run a command in the sandbox."),
    "shell": ("sandbox_agent.cli.processes.shell_command:shell_command", "Open a terminal in the sandbox."),
    "server": ("sandbox_agent.cli.server.click_commands:server", "Run the server in the foreground."),
    "daemon": ("sandbox_agent.cli.daemon.daemon_command:daemon", "Run the server in the background."),
    "api": ("sandbox_agent.cli.api.api_commands:api", "Call a running server."),
    "install-agent": ("sandbox_agent.cli.install_agent:install_agent", "Install agents on this machine."),
    "credentials": ("sandbox_agent.cli.credentials:credentials", "Show the API keys found on this machine."),
    "skills": (
        "sandbox_agent.cli.skills_command:skills",
        "Install the configured skills of a directory for an agent.",
    ),
    "doctor": ("sandbox_agent.cli.doctor.doctor_command:doctor", "Check what is missing on this machine."),
    "completion": ("sandbox_agent.cli.completion:completion", "Print a shell completion script."),
    "adapter": (
        "sandbox_agent.cli.server.click_commands:adapter",
        "Run an ACP agent on stdio around a vendor's program.",
    ),
    "mock-agent": (
        "sandbox_agent.cli.server.click_commands:mock_agent",
        "Run the scripted ACP agent on stdio.",
    ),
    "mcp-relay": (
        "sandbox_agent.cli.server.click_commands:mcp_relay",
        "Offer the tools of a client to an agent, as an MCP server on stdio.",
    ),
}


@click.group(cls=LazyGroup, lazy=_ROOT, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="sandbox-agent", message="%(prog)s %(version)s")
def root() -> None:
    """One HTTP API for every coding agent."""


def run(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        code = root.main(args=list(arguments), prog_name="sandbox-agent", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        raise  # `main.py` handles it for all commands
    except click.Abort:
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:
        from sandbox_agent.cli.error_output import describe  # imports the client library

        text = describe(error)
        if text is None:
            raise
        click.echo(text, err=True)
        return 1
    return code if isinstance(code, int) else 0
