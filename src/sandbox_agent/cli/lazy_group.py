"""A click group that knows the names and one-line descriptions of its commands without importing them.

A command is imported when it is called or its help is shown. Every imported command gets the two options that
are valid everywhere, `-t/--token` and `-n/--no-token`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from sandbox_agent.cli.options.token_options import accept_token


class LazyGroup(click.Group):
    def __init__(self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **options: Any) -> None:
        """`lazy` maps each name to its location (`module:attribute`) and its one-line description."""
        super().__init__(*args, **options)
        self._lazy = dict(lazy or {})

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: object,
    ) -> click.Context:
        accept_token(self)
        return super().make_context(info_name, args, parent, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self._lazy, *self.commands]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = self.commands.get(cmd_name)
        if command is None and (entry := self._lazy.get(cmd_name)) is not None:
            module, _, attribute = entry[0].partition(":")
            command = getattr(import_module(module), attribute)
        if command is not None:
            accept_token(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = [(name, text) for name, (_, text) in self._lazy.items()]
        lines += [(name, command.get_short_help_str(90)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(lines)
