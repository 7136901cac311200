"""The inspector page in Chromium, with the built-in mock: frames, long tasks, heap, many sessions, slow line.

The page of the reference has no counterpart, so the values are our own. Frames and tasks are the processor
time of the main thread; the first paint is a time of the clock.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from bench.plan import MB, Plan
from bench.results import report
from bench.results.measurements import Measurements
from bench.server_under_test import TOKEN, RunningServer, ServerUnderTest

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from tests.browser.inspector_page import InspectorPage
    from tests.support.server_process import ServerProcess

TURN_LIMIT_MS = 300_000
UPDATE_INTERVAL_MS = 2
SESSIONS_INTERVAL_MS = 100
# A slow mobile line: 1.6 Mbit/s down, 0.75 Mbit/s up, 150 ms.
SLOW_LINE = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 94_000}

FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


class _Server:
    """What the page object and the sessions of a browser need of a server."""

    def __init__(self, running: RunningServer) -> None:
        from tests.support.clients.acp import Acp
        from tests.support.clients.raw_http import Client

        self.port, self.token, self.home = running.port, TOKEN, running.directory
        self.acp = Acp(Client("127.0.0.1", running.port, TOKEN))


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    with _browser() as browser, replace(tested, agent=None).running() as running:
        if browser is None:
            needs = "Chromium and Playwright (scripts/test installs it into .venv)"
            print(f"the page is not measured: it needs {needs}", file=sys.stderr)
            return
        from tests.browser.main_thread import MainThread

        server = cast("ServerProcess", _Server(running))
        add = partial(_add, measurements)
        with _tab(browser, server) as tab:
            tab.create_session()
            with MainThread(tab.page) as main:
                _turn(tab, f"stream {plan.page_updates} {UPDATE_INTERVAL_MS}")
            add("page updates frame p95", main.frame_p95_ms)
        with _tab(browser, server) as tab:
            tab.create_session()
            with MainThread(tab.page) as main:
                _turn(tab, f"flood {plan.page_flood}")
            add("page flood longest task", main.longest_task_ms)
        with _tab(browser, server) as tab:
            tab.create_session()
            _turn(tab, f"flood {plan.page_heap_events}")
            add("page heap", _heap_bytes(tab) / MB)
        _many_sessions(browser, server, plan, measurements)
        with _tab(browser, server, slow=True) as tab:
            tab.page.get_by_role("button", name="Mock").wait_for(timeout=TURN_LIMIT_MS)
            add("page slow line usable", tab.page.evaluate("performance.now()"))
            add("page slow line first paint", tab.page.evaluate(FIRST_PAINT))
    yield


def _add(measurements: Measurements, figure: str, value: float) -> None:
    measurements.add(figure, report.OURS, value)


def _many_sessions(browser: Browser, server: ServerProcess, plan: Plan, measurements: Measurements) -> None:
    from tests.browser.main_thread import MainThread
    from tests.browser.many_sessions import ManySessions

    many = ManySessions(server, plan.page_sessions)
    with _tab(browser, server) as tab:
        many.put_into(tab)
        tab.page.get_by_role("link", name="many-0").first.click()
        with MainThread(tab.page) as main:
            for turn in many.prompt(f"stream {plan.page_updates_each} {SESSIONS_INTERVAL_MS}"):
                turn.result(TURN_LIMIT_MS / 1000)
        measurements.add("page sessions frame p95", report.OURS, main.frame_p95_ms)
        measurements.add("page sessions heap", report.OURS, _heap_bytes(tab) / MB)


@contextmanager
def _browser() -> Iterator[Browser | None]:
    """Chromium; None if it or Playwright is missing."""
    executable = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        executable = None
    if executable is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _tab(browser: Browser, server: ServerProcess, *, slow: bool = False) -> Iterator[InspectorPage]:
    """A page in a profile of its own, which has nothing cached."""
    from tests.browser.inspector_page import InspectorPage

    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.set_default_timeout(TURN_LIMIT_MS)
    if slow:
        context.new_cdp_session(page).send("Network.emulateNetworkConditions", cast(Any, SLOW_LINE))
    tab = InspectorPage(page, server)
    page.goto(tab.address(f"/ui/#token={TOKEN}"))
    yield tab
    context.close()
    for entry in server.acp.list():
        server.acp.delete(entry["serverId"])


def _turn(tab: InspectorPage, prompt: str) -> None:
    from playwright.sync_api import expect

    tab.say(prompt)
    expect(tab.conversation).to_have_attribute("data-turns", "1", timeout=TURN_LIMIT_MS)


def _heap_bytes(tab: InspectorPage) -> float:
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"])
