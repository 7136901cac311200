"""The output of a batch: rows are whole and on disk, also when the batch is interrupted during a write."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from sandbox_agent.rollouts.output.journal import Journal, read_journal
from sandbox_agent.rollouts.output.output_directory import OutputDirectory, read_rows
from sandbox_agent.rollouts.result import Result


@pytest.mark.clause("rollouts-resume")
async def test_interrupted_write_ends_before_the_files_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on = threading.Event(), threading.Event()
    sync = os.fsync

    def slow_disk(descriptor: int) -> None:
        began.set()
        assert goes_on.wait(20)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_disk)

    async def batch() -> None:
        with OutputDirectory(tmp_path) as output:
            await output.add(Result(id="a", artifacts={"note": b"kept"}))

    running = asyncio.create_task(batch())
    assert await asyncio.to_thread(began.wait, 20)
    running.cancel()
    assert not (await asyncio.wait([running], timeout=0.2))[0]
    goes_on.set()
    async with asyncio.timeout(20):
        await asyncio.wait([running])
    assert running.cancelled()
    assert [row["id"] for row in read_rows(tmp_path)] == ["a"]
    assert (tmp_path / "runs" / "a" / "note").read_bytes() == b"kept"


@pytest.mark.clause("rollouts-batch")
async def test_all_parts_are_written_by_one_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with OutputDirectory(tmp_path, rows_per_part=3) as output:
        for number in range(10):
            await output.add(Result(id=str(number)))
        assert len(set(threading.enumerate()) - before) == 1
    assert len(list((tmp_path / "parts").iterdir())) == 4
    assert [row["id"] for row in read_rows(tmp_path)] == [str(number) for number in range(10)]


@pytest.mark.clause("rollouts-resume")
def test_row_after_a_torn_line_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "b", "te')
    journal = Journal(path)
    journal.append({"id": "c"})
    journal.close()
    assert [row["id"] for row in read_journal(path)] == ["a", "c"]
