"""The rules of tests/conftest.py, each tried on small tests that break it, with and without xdist."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Each test starts pytest once or twice, with workers of its own.
pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]
parallel = pytest.mark.parametrize("workers", ["0", "2"])


def run(directory: Path, cases: str, *options: str, ci: str = "true") -> subprocess.CompletedProcess[str]:
    (directory / "test_cases.py").write_text(cases)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    command += ["-p", "no:schemathesis"]  # takes half of the start-up time
    return subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), *options, str(directory)],
        cwd=ROOT,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


TASKS = """
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
    done = run(tmp_path, TASKS)
    assert "3 passed, 2 errors" in done.stdout, done.stdout
    assert (
        "test_left_in_the_loop_of_the_test" in done.stdout and "test_left_in_a_loop_of_its_own" in done.stdout
    )
    assert "ERROR" in done.stdout and "name='forgotten'" in done.stdout


PROCESS = """
import subprocess

def test_leaves_a_process():
    subprocess.Popen(["sleep", "7.5"])
"""


@parallel
def test_a_process_that_is_left_running_fails_the_run(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, PROCESS, "-n", workers, "-W", "ignore")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "left running after the tests" in done.stdout and "sleep 7.5" in done.stdout
    assert "1 passed" in done.stdout


SKIPS = """
import pytest

@pytest.mark.skip(reason="no reason")
def test_skipped(): ...

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False

def test_passes(): ...
"""


@parallel
def test_a_skip_or_expected_failure_that_is_not_listed_fails_ci(tmp_path: Path, workers: str) -> None:
    done = run(tmp_path, SKIPS, "-n", workers)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    assert "allowed_skips.toml: " in done.stdout
    assert "::test_skipped (" in done.stdout and "::test_expected_to_fail (" in done.stdout
    assert run(tmp_path, SKIPS, "-n", workers, ci="").returncode == pytest.ExitCode.OK


SIZES = """
import pytest

@pytest.mark.parametrize("size", [1, pytest.param(100, marks=pytest.mark.full)])
def test_sized(size, full_run):
    assert full_run or size == 1

@pytest.mark.full
def test_large(full_run):
    assert full_run
"""


@parallel
def test_full_parameters_are_left_out_and_full_tests_are_skipped(tmp_path: Path, workers: str) -> None:
    small = run(tmp_path, SIZES, "-n", workers, ci="")
    assert "1 passed, 1 skipped" in small.stdout, small.stdout
    assert "3 passed" in run(tmp_path, SIZES, "-n", workers, "--full").stdout


NEEDS = """
import pytest

@pytest.mark.chromium
def test_with_a_browser(): ...
"""


def test_a_test_whose_requirement_is_missing_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(tmp_path, NEEDS, ci="")
    assert "1 skipped" in done.stdout and "chromium" in done.stdout, done.stdout
