"""Small directory trees: write them, and read them as a map from path to content."""

from __future__ import annotations

import os
from pathlib import Path


def tree(top: Path) -> dict[str, str]:
    found = {}
    for directory, directories, files in os.walk(top):
        for name in (*directories, *files):
            path = Path(directory, name)
            key = str(path.relative_to(top))
            if path.is_symlink():
                found[key] = f"-> {os.readlink(path)}"
            else:
                found[key] = "/" if path.is_dir() else path.read_text()
    return found


def fill(top: Path, **files: str) -> None:
    for name, text in files.items():
        path = top / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
