"""The journal of a batch: rows are whole and on disk, also when the batch is interrupted during a write."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from sandbox_agent.rollouts.output.journal import Journal, read_journal


@pytest.mark.clause("rollouts-resume")
async def test_interrupted_append_returns_after_the_row_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, goes_on = threading.Event(), threading.Event()
    sync = os.fsync

    def slow_disk(descriptor: int) -> None:
        began.set()
        assert goes_on.wait(20)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", slow_disk)
    journal = Journal(tmp_path / "journal.jsonl")
    appending = asyncio.create_task(journal.append({"id": "a"}))
    assert await asyncio.to_thread(began.wait, 20)
    appending.cancel()
    # The descriptor may not be closed before the thread is done with it.
    assert not (await asyncio.wait([appending], timeout=0.2))[0]
    goes_on.set()
    async with asyncio.timeout(20):
        await asyncio.wait([appending])
    assert appending.cancelled()
    journal.close()
    assert [row["id"] for row in read_journal(journal.path)] == ["a"]


@pytest.mark.clause("rollouts-resume")
async def test_row_after_a_torn_line_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "b", "te')
    journal = Journal(path)
    await journal.append({"id": "c"})
    journal.close()
    assert [row["id"] for row in read_journal(path)] == ["a", "c"]
