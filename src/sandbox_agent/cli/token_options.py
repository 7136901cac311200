"""`-t/--token` and `-n/--no-token`, which may stand anywhere on the command line.

The last word wins; `--token` wins over `--no-token`. A token on a command line can be seen by everybody on
the machine: `SANDBOX_AGENT_TOKEN` and `--token-file` cannot.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import click

TOKEN_VARIABLE = "SANDBOX_AGENT_TOKEN"  # noqa: S105 - the name of a variable
_NAMES = frozenset({"token", "no_token"})


token_file_option = click.option(
    "--token-file",
    type=click.Path(dir_okay=False),
    envvar="SANDBOX_AGENT_TOKEN_FILE",
    show_envvar=True,
    help="File that holds the token.",
)


@dataclass
class TokenChoice:
    """What the command line says about the token."""

    token: str | None = None
    no_token: bool = False


def accept_token(command: click.Command) -> None:
    """Let `command` understand both options, if it does not already."""
    if not any(parameter.name in _NAMES for parameter in command.params):
        command.params += [
            click.Option(
                ["-t", "--token"],
                expose_value=False,
                callback=_remember_token,
                metavar="TOKEN",
                help=f"Token of the server; better in {TOKEN_VARIABLE}.",
            ),
            click.Option(
                ["-n", "--no-token"],
                is_flag=True,
                expose_value=False,
                callback=_remember_no_token,
                help="Use no token.",
            ),
        ]


def choice_of(ctx: click.Context) -> TokenChoice:
    """What was said so far, on this command or before it."""
    return ctx.find_root().ensure_object(TokenChoice)


def given_token(ctx: click.Context, token_file: str | None = None) -> str | None:
    """The token somebody gave: option, file, environment, in this order; None if nobody did."""
    choice = choice_of(ctx)
    if choice.token is not None:
        return checked(choice.token)
    if choice.no_token:
        return None
    if token_file is not None:
        return read_token_file(Path(token_file))
    from_environment = os.environ.get(TOKEN_VARIABLE)
    return checked(from_environment) if from_environment is not None else None


def checked(token: str) -> str:
    if not token.strip():
        raise click.UsageError("the token is empty; use --no-token to go without one")
    return token.strip()


def read_token_file(path: Path) -> str:
    try:
        return checked(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"cannot read the token file {path}: {error}") from None


def _remember_token(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        choice_of(ctx).token = value


def _remember_no_token(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        choice_of(ctx).no_token = True
