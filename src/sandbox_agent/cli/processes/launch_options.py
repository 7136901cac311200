"""The options that `exec` and `shell` share: directory and variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


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
