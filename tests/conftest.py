"""Rules for all tests: what runs where and at which size, and no skip, task or process goes unnoticed.

- A marker of tests/support/suite/requirements.py skips the test where its requirement is missing.
- `full` marks what is too large for every run: a marked parameter set is left out, a marked test is skipped.
  `--full` runs both; the fixture `full_run` tells a test which size it has.
- When CI=true, a skip that tests/allowed_skips.toml does not list fails the run.
- A task that outlives its test fails the test; a process that outlives the tests fails the run.

With pytest-xdist the workers look for processes they left, the controller collects everything and decides.
"""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.support.suite import task_leaks
from tests.support.suite.implied_marks import implied_marks
from tests.support.suite.process_leaks import left_running
from tests.support.suite.requirements import skip_unmet

ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.toml")
PROCESSES_KEY = "processes left running"
_skipped: dict[str, str] = {}
_left_by_workers: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run what is marked `full`, at its full size")
    parser.addoption("--chaos-seed", type=int, metavar="N", help="only seed N of tests/chaos/seeds")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background commands like this, and programs under test would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    task_leaks.watch()
    _register_fuzz_profile(full=bool(config.getoption("full")))


def _register_fuzz_profile(full: bool) -> None:
    """For generated input: the same 500 examples in each run, 5,000 new ones with `--full`."""
    # A loaded machine makes single examples slow; the time-out of the test is the bound.
    hypothesis.settings.register_profile(
        "default", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
    )
    hypothesis.settings.load_profile("default")
    hypothesis.settings.register_profile(
        "fuzz",
        max_examples=5000 if full else 500,
        derandomize=not full,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )


@pytest.fixture(scope="session")
def full_run(request: pytest.FixtureRequest) -> bool:
    """Whether the run was started with `--full`."""
    return bool(request.config.getoption("full"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    large = []
    for item in items:
        for name in implied_marks(item):
            item.add_marker(name)
        skip_unmet(item)
        if not config.getoption("full") and item.get_closest_marker("full") is not None:
            if _is_full_parameter_set(item):
                large.append(item)
            else:
                item.add_marker(pytest.mark.skip(reason="runs with --full only"))
    if large:
        config.hook.pytest_deselected(items=large)
        items[:] = [item for item in items if item not in large]


def _is_full_parameter_set(item: pytest.Item) -> bool:
    parameters = getattr(item, "callspec", None)
    return parameters is not None and any(mark.name == "full" for mark in parameters.marks)


@pytest.fixture(autouse=True)
def unmeasured_interpreters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """coverage.py would load modules of its own into interpreters whose modules the test counts."""
    if request.node.get_closest_marker("imports") is not None:
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """The event loops of the test are closed by now; no task may have been running in them."""
    yield
    if left := task_leaks.take_left():
        pytest.fail("tasks left running: " + "\n".join(left), pytrace=False)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped[report.nodeid] = getattr(report, "wasxfail", reason)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Called in the controller of pytest-xdist for each worker that has ended."""
    _left_by_workers.extend(getattr(node, "workeroutput", {}).get(PROCESSES_KEY, []))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    processes = left_running()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[PROCESSES_KEY] = processes
        return
    problems = [f"left running after the tests: {process}" for process in [*_left_by_workers, *processes]]
    problems += _unlisted_skips()
    if problems:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        for problem in problems:
            reporter.write_line(problem, red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unlisted_skips() -> list[str]:
    if os.environ.get("CI") != "true":
        return []
    listed = tomllib.loads(ALLOWED_SKIPS.read_text()).get("skip", [])
    allowed = tuple(entry["test"] for entry in listed if entry["reason"])
    return [
        f"skipped without being listed in {ALLOWED_SKIPS.name}: {nodeid} ({reason})"
        for nodeid, reason in _skipped.items()
        if not nodeid.startswith(allowed)
    ]
