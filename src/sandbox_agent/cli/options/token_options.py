"""`-t/--token` and `-n/--no-token`, which are accepted anywhere on the command line.

Of several `--token` the last counts; with both options, `--token` counts. A token on a command line is
visible to every user of the machine; `SANDBOX_AGENT_TOKEN` and `--token-file` are not.
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
    help="File with the token.",
)


@dataclass
class TokenChoice:
    """The token options of the command line."""

    token: str | None = None
    no_token: bool = False


def accept_token(command: click.Command) -> None:
    """Add both options to `command`, unless it has them."""
    if not any(parameter.name in _NAMES for parameter in command.params):
        command.params += [
            click.Option(
                ["-t", "--token"],
                expose_value=False,
                callback=_remember_token,
                metavar="TOKEN",
                help=f"Token of the server; {TOKEN_VARIABLE} is safer.",
            ),
            click.Option(
                ["-n", "--no-token"],
                is_flag=True,
                expose_value=False,
                callback=_remember_no_token,
                help="Send no token.",
            ),
        ]


def token_choice(ctx: click.Context) -> TokenChoice:
    """The token options so far, of this command and those before it."""
    return ctx.find_root().ensure_object(TokenChoice)


def given_token(ctx: click.Context, token_file: str | None = None) -> str | None:
    """The token from option, file or environment, in this order; None without one."""
    choice = token_choice(ctx)
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
        raise click.UsageError("the token is empty; use --no-token to send none")
    return token.strip()


def read_token_file(path: Path) -> str:
    try:
        return checked(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"cannot read the token file {path}: {error}") from None


def _remember_token(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        token_choice(ctx).token = value


def _remember_no_token(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        token_choice(ctx).no_token = True
