"""The type of options that name a file to write: it is checked before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

import click


class _NewFile(click.Path):
    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        path = Path(value).absolute()
        if not path.exists() and not os.access(path.parent, os.W_OK):
            self.fail(f"the directory of {os.fspath(value)!r} is not there or cannot be written", param, ctx)
        return super().convert(value, param, ctx)


NEW_FILE = _NewFile(dir_okay=False, writable=True, path_type=Path)
