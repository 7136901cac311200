"""The output of a batch: a journal, Parquet parts, and a directory with what each rollout keeps.

    out/journal.jsonl          rows that are not yet in a part
    out/parts/part-00000.parquet
    out/runs/<id>/             trajectory.json, patch.diff, ...

A part is written to a temporary name, synced and renamed before the journal is emptied. After a crash between
the two, a row is in both; readers take each id once. A lock keeps two batches out of one directory.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from sandbox_agent.rollouts.output.journal import Journal, read_journal
from sandbox_agent.rollouts.output.worker_thread import WorkerThread
from sandbox_agent.rollouts.result import Result

ROWS_PER_PART = 1000
_SAFE = re.compile(r"[^A-Za-z0-9._-]")
_MAX_NAME = 120


class OutputInUseError(RuntimeError):
    """Another batch writes to the directory."""


class OutputDirectory:
    """Open for one batch; `done` has the ids that need not run again."""

    def __init__(self, path: Path, *, rows_per_part: int = ROWS_PER_PART, retry_failed: bool = False) -> None:
        self.path = path
        self._rows_per_part = rows_per_part
        path.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(path / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise OutputInUseError(f"another batch writes to {path}") from None
        self.done = {row["id"] for row in read_rows(path) if not (retry_failed and row.get("error"))}
        self._journal = Journal(path / "journal.jsonl")
        self._thread = WorkerThread()
        self._in_journal = sum(1 for _ in read_journal(self._journal.path))

    def __enter__(self) -> OutputDirectory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._thread.run_blocking(self._compact)
        finally:
            self._thread.close()
            self._journal.close()
            os.close(self._lock)

    async def add(self, result: Result) -> None:
        """Write a finished rollout; it is on disk when this returns."""
        await self._thread.run(self._write, result)

    def _write(self, result: Result) -> None:
        self._keep(result)
        self._journal.append(result.to_row())
        self.done.add(result.id)
        self._in_journal += 1
        if self._in_journal >= self._rows_per_part:
            self._compact()

    def _keep(self, result: Result) -> None:
        if not result.artifacts:
            return
        place = self.path / "runs" / run_name(result.id)
        for name, content in result.artifacts.items():
            target = (place / name).resolve()
            if not target.is_relative_to(place.resolve()):
                continue  # the name of a kept file must not lead out of the directory
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        if "trajectory.json" in result.artifacts:
            result.transcript = str((place / "trajectory.json").relative_to(self.path))
        result.artifacts = {}

    def _compact(self) -> None:
        """Move the rows of the journal into a Parquet part; without pyarrow they stay in the journal."""
        rows = list(read_journal(self._journal.path))
        if not rows or not _have_pyarrow():
            return
        from sandbox_agent.rollouts.output.parquet_parts import write_part

        write_part(self.path / "parts", rows)
        self._journal.restart()
        self._in_journal = 0


def is_output(path: Path) -> bool:
    """Whether a batch has written to the directory."""
    return (path / "journal.jsonl").exists() or (path / "parts").exists()


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The newest row of each id, from parts and journal. Parts need pyarrow (the extra `rollouts`)."""
    rows: dict[str, dict[str, Any]] = {}
    parts = sorted((path / "parts").glob("part-*.parquet"))
    if parts:
        from sandbox_agent.rollouts.output.parquet_parts import read_part

        for part in parts:
            rows.update((row["id"], row) for row in read_part(part))
    rows.update((row["id"], row) for row in read_journal(path / "journal.jsonl"))
    yield from rows.values()


def run_name(task_id: str) -> str:
    """A file name for an id; ids that would share one get a suffix."""
    safe = _SAFE.sub("_", task_id)[:_MAX_NAME]
    if safe == task_id and safe not in (".", ".."):
        return safe
    import hashlib

    return f"{safe.lstrip('.')}-{hashlib.sha256(task_id.encode()).hexdigest()[:12]}"


def _have_pyarrow() -> bool:
    import importlib.util

    return importlib.util.find_spec("pyarrow") is not None
