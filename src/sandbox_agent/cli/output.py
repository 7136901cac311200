"""The output of commands: JSON for programs, a table for terminals.

With `-o auto` (the default) a terminal gets the table, a pipe or file gets JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import click

OutputFormat = Literal["auto", "json", "table"]
Row = Sequence[object]

output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(["auto", "json", "table"]),
    default="auto",
    show_default=True,
    help="Output format; auto is a table in a terminal and JSON elsewhere.",
)


def wants_table(form: OutputFormat) -> bool:
    return form == "table" or (form == "auto" and sys.stdout.isatty())


def show(
    document: Any, form: OutputFormat, columns: Sequence[str], rows: Callable[[], Iterable[Row]]
) -> None:
    """Print `document` as JSON, or `rows()` as a table."""
    if wants_table(form):
        print_table(columns, rows())
    else:
        print_json(document)


def print_json(document: Any) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def print_table(columns: Sequence[str], rows: Iterable[Row]) -> None:
    from rich import box  # only tables need rich
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    # A file has no width to fit into: nothing is cut or folded.
    width = None if sys.stdout.isatty() else 1000
    Console(width=width, highlight=False).print(table)


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
