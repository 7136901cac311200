"""The rule that no task outlives its test, tried on tests that break it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CASES = """
import asyncio

async def forget():
    asyncio.create_task(asyncio.sleep(600), name="forgotten")

async def test_left_in_the_loop_of_the_test():
    await forget()

def test_left_in_a_loop_of_its_own():
    asyncio.run(forget())

async def test_all_ended():
    task = asyncio.create_task(asyncio.sleep(600))
    task.cancel()
    asyncio.create_task(asyncio.sleep(0.01))
"""


@pytest.mark.clause("runtime-no-task-left")
def test_a_test_that_leaves_a_task_fails_and_one_that_leaves_none_does_not(tmp_path: Path) -> None:
    (tmp_path / "test_cases.py").write_text(CASES)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert "3 passed, 2 errors" in done.stdout, done.stdout
    assert (
        "test_left_in_the_loop_of_the_test" in done.stdout and "test_left_in_a_loop_of_its_own" in done.stdout
    )
    assert "ERROR" in done.stdout and "name='forgotten'" in done.stdout
