"""What the page shows of an output directory: the rows, also of a batch that still runs, and kept files."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from sandbox_agent.rollouts.output.output_directory import read_rows, run_name
from sandbox_agent.rollouts.result import Result

TEXT_CHARS = 300
_LONG_FIELDS = ("text", "error")


class OutputOverview:
    """Reads the rows again when a file has changed. Threads may use it at the same time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._version = ""
        self._rows: dict[str, Result] = {}

    def version(self) -> str:
        """Another text after every change of the rows."""
        files = [self.path / "journal.jsonl", *sorted((self.path / "parts").glob("part-*.parquet"))]
        facts = [
            f"{path.name}:{found.st_size}:{found.st_mtime_ns}" for path in files if (found := _stat(path))
        ]
        return "|".join(facts)

    def rows(self) -> dict[str, Result]:
        """All rows by id, in the order in which they were written."""
        with self._lock:
            version = self.version()
            if version != self._version:
                self._rows = {row["id"]: Result.from_row(row) for row in read_rows(self.path)}
                self._version = version
            return self._rows

    def summaries(self) -> list[dict[str, Any]]:
        """The rows with the beginnings of long texts, without the output of commands."""
        return [_summary(result) for result in self.rows().values()]

    def row(self, task_id: str) -> dict[str, Any] | None:
        """One whole row with the names of its kept files."""
        result = self.rows().get(task_id)
        if result is None:
            return None
        return {**result.to_row(), "passed": result.passed, "files": self._files(task_id)}

    def file(self, task_id: str, name: str) -> Path | None:
        """A file that the rollout has kept; None for names that lead elsewhere."""
        return self._place(task_id) / name if name in self._files(task_id) else None

    def _files(self, task_id: str) -> list[str]:
        place = self._place(task_id)
        found = (path for path in sorted(place.rglob("*")) if path.is_file() and not path.is_symlink())
        return [str(path.relative_to(place)) for path in found]

    def _place(self, task_id: str) -> Path:
        return self.path / "runs" / run_name(task_id)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _summary(result: Result) -> dict[str, Any]:
    row = result.to_row()
    del row["outputs"]
    short = {name: (row[name] or "")[:TEXT_CHARS] or None for name in _LONG_FIELDS}
    return {**row, **short, "passed": result.passed}
