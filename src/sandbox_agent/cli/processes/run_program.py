"""The exit code of `exec` and `shell` when the program cannot be started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click

from sandbox_agent.cli.api.api_connection import ApiConnection
from sandbox_agent.cli.error_output import describe
from sandbox_agent.sdk.errors import BadRequestError
from sandbox_agent.sdk.transport.http_api import HttpApi


def run_program(connection: ApiConnection, run: Callable[[HttpApi], Awaitable[int]]) -> int:
    """Run `run`; a program that is not found or not executable is reported with the exit code of a shell."""
    try:
        return connection.run(run)
    except BadRequestError as error:
        code = error.details.get("exitCode")
        if not isinstance(code, int):
            raise
        click.echo(describe(error), err=True)
        return code
