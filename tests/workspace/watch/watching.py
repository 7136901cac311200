"""A watch of a directory and what it reports."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.watch.directory_watch import DirectoryWatch, WatchReport

Seen = set[tuple[str, str]]


@contextmanager
def watching(
    workspace: Workspace,
    path: Path,
    *,
    recursive: bool = True,
    excluded: frozenset[str] = frozenset(),
    max_directories: int = 1000,
) -> Iterator[DirectoryWatch]:
    watch = DirectoryWatch(
        workspace, str(path), recursive=recursive, excluded=excluded, max_directories=max_directories
    )
    try:
        yield watch
    finally:
        watch.close()


def next_report(watch: DirectoryWatch) -> WatchReport:
    assert select.select([watch.fileno()], [], [], 10)[0], "no event within 10 s"
    return watch.take()


def seen(report: WatchReport, top: Path) -> Seen:
    return {(change.kind, os.path.relpath(change.path, top)) for change in report.changes}
