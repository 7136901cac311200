"""The output of commands: JSON for programs, a table for terminals.

With `-o auto` (the default) a terminal gets the table, a pipe or file gets JSON.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any, Literal

import click

from sandbox_agent.terminal_text import display_width, printable, wrap

OutputFormat = Literal["auto", "json", "table"]
Row = Sequence[object]

_GAP = "  "
# A narrower column is not read any more, so a terminal that is too narrow for the table breaks its lines.
_MIN_WIDTH = 8

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
    """A terminal gets lines of its width. A file has no width to fit into: nothing is cut or folded."""
    table = [[_cell(value) for value in row] for row in (columns, *rows)]
    widths = [max(map(display_width, column)) for column in zip(*table, strict=True)]
    if sys.stdout.isatty():
        _narrow(widths, shutil.get_terminal_size().columns)
    table.insert(1, ["-" * width for width in widths])
    for row in table:
        cells = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for line in zip_longest(*cells, fillvalue=""):
            padded = (
                text + " " * (width - display_width(text)) for text, width in zip(line, widths, strict=True)
            )
            click.echo(_GAP.join(padded).rstrip())


def _narrow(widths: list[int], columns: int) -> None:
    """Take from the widest columns of a table what a line has too much."""
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - columns
    while excess > 0 and max(widths) > _MIN_WIDTH:
        widths[widths.index(max(widths))] -= 1
        excess -= 1


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return printable(str(value))
