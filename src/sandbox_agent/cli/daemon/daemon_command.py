"""`sandbox-agent daemon start | stop | status | logs`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

from sandbox_agent.cli.daemon.daemon_files import DaemonFiles
from sandbox_agent.cli.daemon.health import check_health
from sandbox_agent.cli.daemon.log_follower import LogFollower
from sandbox_agent.cli.daemon.start import DaemonOptions
from sandbox_agent.cli.daemon.start import start as start_daemon
from sandbox_agent.cli.daemon.stop import stop as stop_daemon
from sandbox_agent.cli.lazy_group import LazyGroup
from sandbox_agent.cli.options.token_options import given_token, token_choice, token_file_option
from sandbox_agent.cli.output import OutputFormat, output_option, print_json, wants_table
from sandbox_agent.cli.server import settings_parser
from sandbox_agent.http.serve import check_exposure
from sandbox_agent.settings import Settings, SettingsError

# The exit codes of `status` in the LSB init script specification.
RUNNING, DEAD_WITH_PID_FILE, NOT_RUNNING, UNKNOWN = 0, 1, 3, 4
_DEFAULTS = Settings()


def _address_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "-p", "--port", type=click.IntRange(1, 65535), default=_DEFAULTS.port, show_default=True
        ),
        click.option("-H", "--host", default=_DEFAULTS.host, show_default=True),
    ):
        command = option(command)
    return command


@click.group(cls=LazyGroup)
def daemon() -> None:
    """Run the server in the background, one daemon per address."""


@daemon.command(context_settings={"ignore_unknown_options": True})
@_address_options
@click.option("--upgrade", is_flag=True, help="Replace a daemon of another version.")
@token_file_option
@click.argument("server_options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def start(
    ctx: click.Context,
    host: str,
    port: int,
    upgrade: bool,
    token_file: str | None,
    server_options: tuple[str, ...],
) -> None:
    """Start the daemon and wait until it answers; a running one is no error.

    Further options are those of `sandbox-agent server`. The token comes from --token, --token-file or
    SANDBOX_AGENT_TOKEN and is passed on in a file that only you can read.
    """
    token = given_token(ctx, token_file)
    no_token = ["--no-token"] if token_choice(ctx).no_token else []
    try:
        # Checked before the start, so that wrong options are a usage error and not a failed daemon.
        arguments = ["--host", host, *no_token, *server_options]
        check_exposure(settings_parser.parse(arguments, {"SANDBOX_AGENT_TOKEN": token} if token else {}))
    except SettingsError as error:
        raise click.UsageError(str(error)) from None
    except settings_parser.HelpRequested:
        click.echo(ctx.get_help())
        return
    started = start_daemon(DaemonOptions(host, port, token, server_options, upgrade))
    outcome = "already running" if started.already_running else "started"
    click.echo(f"daemon {outcome}: http://{host}:{port} (pid {started.pid}, version {started.version})")


@daemon.command()
@_address_options
def stop(host: str, port: int) -> None:
    """Stop the daemon and all processes of its agents; a daemon that does not run is no error."""
    stopped = stop_daemon(host, port)
    if stopped.pid is not None:
        click.echo(f"daemon stopped (pid {stopped.pid})")
    elif stopped.stale_pid is not None:
        click.echo(
            f"daemon is not running; process {stopped.stale_pid} in its pid file is not the daemon "
            "and was left alone"
        )
    else:
        click.echo("daemon is not running")


@daemon.command()
@_address_options
@output_option
def status(host: str, port: int, output: OutputFormat) -> int:
    """Show whether the daemon runs.

    Exit codes: 0 it runs and answers, 1 it has exited but left its pid file, 3 it does not run, 4 it runs but
    does not answer.
    """
    files = DaemonFiles.of(host, port)
    running = files.running()
    facts: dict[str, Any] = {"status": "stopped", "url": f"http://{host}:{port}", "log": str(files.log)}
    code = NOT_RUNNING
    if running is not None:
        is_healthy = check_health(host, port, files.running_token()).is_healthy
        code = RUNNING if is_healthy else UNKNOWN
        facts |= {"status": "running" if is_healthy else "not answering", "pid": running.pid}
        facts["version"] = files.version()
    elif files.has_pid_file():
        code = DEAD_WITH_PID_FILE
        facts["status"] = "dead"
    if wants_table(output):
        click.echo("\n".join(f"{name}: {value}" for name, value in facts.items()))
    else:
        print_json(facts)
    return code


@daemon.command()
@_address_options
@click.option("-f", "--follow", is_flag=True, help="Wait for more output.")
@click.option(
    "--lines", type=click.IntRange(0), default=100, show_default=True, help="Number of lines to show first."
)
def logs(host: str, port: int, follow: bool, lines: int) -> None:
    """Show the log of the daemon."""
    files = DaemonFiles.of(host, port)
    if not files.log.exists():
        raise click.ClickException(f"there is no log yet at {files.log}")
    reader = LogFollower(files.log, os.fdopen(os.dup(1), "wb"))
    reader.show_last(lines)
    if follow:
        reader.follow()
