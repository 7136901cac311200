"""The file executor: hanging work gets its error in time and does not delay other work."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from sandbox_agent.errors import Timeout
from sandbox_agent.workspace.executor.file_executor import HANGING_PER_DOMAIN, FileExecutor
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.executor.serial_executor import SerialExecutor
from tests.support.polling import eventually


async def test_hung_work_is_answered_and_takes_no_thread_from_others() -> None:
    executor = FileExecutor(silence_s=0.3, threads=2)
    hang = threading.Event()
    try:
        for path in ("/a", "/b", "/c", "/d", "/e"):
            with pytest.raises(Timeout):
                await executor.run(path, hang.wait)
        assert executor.lost == 5
        assert await executor.run("/f", lambda: "done") == "done"
    finally:
        hang.set()
    await eventually(lambda: executor.lost == 0)
    assert await executor.run("/a", lambda: "again") == "again"
    executor.close()


@pytest.mark.serial
async def test_where_several_hang_further_ones_are_refused_at_once() -> None:
    executor = FileExecutor(silence_s=0.2, threads=2)
    hang = threading.Event()
    try:
        for _ in range(HANGING_PER_DOMAIN):
            with pytest.raises(Timeout, match="timeout"):
                await executor.run("/same", hang.wait)
        began = time.monotonic()
        with pytest.raises(Timeout) as refused:
            await executor.run("/same", lambda: "never called")
        assert time.monotonic() - began < 0.2
        assert "does not answer" in refused.value.extensions["details"]["message"]
        assert await executor.run("/other", lambda: 1) == 1
    finally:
        hang.set()
    await eventually(lambda: executor.lost == 0)
    assert await executor.run("/same", lambda: "fine again") == "fine again"
    executor.close()


async def test_work_that_gets_ahead_may_take_longer_than_the_limit() -> None:
    executor = FileExecutor(silence_s=0.3)
    progress = ProgressToken()

    def slow(progress: ProgressToken) -> str:
        for _ in range(10):
            time.sleep(0.1)
            progress.advance()
        return "done"

    assert await executor.run("/x", slow, progress) == "done"
    executor.close()


async def test_work_held_back_behind_hung_work_is_reported_when_that_is_lost() -> None:
    executor = FileExecutor(silence_s=0.5, threads=2, long_s=0.05)
    hang = threading.Event()
    hung = [asyncio.ensure_future(executor.run("/same", hang.wait)) for _ in range(30)]
    try:
        results = await asyncio.gather(*hung, return_exceptions=True)
        assert [type(result) for result in results] == [Timeout] * 30
        assert HANGING_PER_DOMAIN <= executor.lost <= HANGING_PER_DOMAIN + 2
    finally:
        hang.set()
    executor.close()


@pytest.mark.clause("files-blocking")
async def test_hung_and_long_work_delays_others_by_a_second_at_most() -> None:
    executor = FileExecutor(silence_s=30, threads=2, long_s=0.2)
    hang = threading.Event()
    before = threading.active_count()
    hung = [asyncio.ensure_future(executor.run(f"/{number}", hang.wait)) for number in range(6)]
    same = [asyncio.ensure_future(executor.run("/same", hang.wait)) for _ in range(50)]
    try:
        await asyncio.sleep(0)
        assert await asyncio.wait_for(executor.run("/other", lambda: 1), 10) == 1
        assert threading.active_count() - before < 28, "those that hang in one place wait for each other"
    finally:
        hang.set()
    assert all(await asyncio.gather(*hung, *same))
    executor.close()


async def test_the_cleanup_runs_after_the_last_step_also_a_late_one() -> None:
    executor = FileExecutor(silence_s=0.2)
    hang, order = threading.Event(), []
    serial = SerialExecutor(executor, "/x")

    def step() -> None:
        hang.wait()
        order.append("step")

    with pytest.raises(Timeout):
        await serial.run(step)
    serial.close(lambda: order.append("cleanup"))
    assert order == []
    hang.set()
    await eventually(lambda: order == ["step", "cleanup"])
    executor.close()
