"""For all tests: skips are failures unless they are listed; no task outlives its test, no process the run."""

from __future__ import annotations

import os
import signal
import time
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support import task_watch

ALLOWED_SKIPS = Path(__file__).with_name("allowed_skips.toml")
_skipped: dict[str, str] = {}


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts what it puts into the background like this, and programs under test would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    task_watch.watch()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """The event loops of the test are closed by now; nothing may have run in them any more."""
    yield
    if left := task_watch.take_left():
        pytest.fail("tasks left running: " + "\n".join(left), pytrace=False)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped[report.nodeid] = getattr(report, "wasxfail", reason)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    problems = [*_unlisted_skips(), *_left_running()]
    if problems:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        for problem in problems:
            reporter.write_line(problem, red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unlisted_skips() -> list[str]:
    if os.environ.get("CI") != "true":
        return []
    listed = tomllib.loads(ALLOWED_SKIPS.read_text()).get("skip", [])
    allowed = [entry["test"] for entry in listed if entry["reason"]]
    return [
        f"skipped without being listed in {ALLOWED_SKIPS.name}: {nodeid} ({reason})"
        for nodeid, reason in _skipped.items()
        if not any(nodeid == entry or nodeid.startswith(entry) for entry in allowed)
    ]


def _left_running() -> list[str]:
    """Descendants of this process that did not go within a few seconds."""
    deadline = time.monotonic() + 5
    while (left := _unexpected_descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"left running after the tests: {pid} {_command(pid)}" for pid in left]


def _unexpected_descendants() -> list[int]:
    # Python's own helper for multiprocessing stays until this process ends.
    return [
        pid for pid in _descendants(os.getpid()) if "multiprocessing.resource_tracker" not in _command(pid)
    ]


def _descendants(parent: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{parent}/task").iterdir():
        try:
            children = [int(pid) for pid in (thread / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            if not _is_zombie(child):
                found += [child, *_descendants(child)]
    return found


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "(gone)"
