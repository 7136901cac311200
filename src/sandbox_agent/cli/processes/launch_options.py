"""What `exec` and `shell` share: directory, variables, and how an exit becomes an exit code."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import click

_SIGNALLED = 128  # as shells: 128 plus the number of the signal


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--cwd` and `--env`."""
    command = click.option(
        "-E", "--env", multiple=True, metavar="NAME=VALUE", callback=_variables, help="Variable to set."
    )(command)
    return click.option("-C", "--cwd", help="Working directory in the sandbox.")(command)


def _variables(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        name, separator, text = value.partition("=")
        if not name or not separator:
            raise click.BadParameter(f"'{value}' is not NAME=VALUE")
        found[name] = text
    return found


def exit_code(code: int | None, signal_name: str | None) -> int:
    """The exit code for a command that has ended in the sandbox."""
    if code is not None:
        return code
    number = signal.Signals.__members__.get(signal_name or "")
    return _SIGNALLED + number if number is not None else 1
