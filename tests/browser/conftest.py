"""One browser and one server for all tests of this folder; a fresh profile, and so a fresh history, for each.

Playwright's synchronous API runs an event loop of its own, so no test in this folder is `async`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

PAGE = Path(__file__).parents[2] / "src" / "sandbox_agent" / "page" / "index.html"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Some tests use several tabs; a hidden one must not be throttled.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-backgrounding-occluded-windows",
]
ACTION_LIMIT_MS = 20_000
PLAYED_AGENT = Path(__file__).with_name("played_agent.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(150))


def played_agents() -> str:
    """Agents that say what a test has written into their directory; one of them needs a key."""
    command = f'command = "{sys.executable}"\nargs = ["-S", "{PLAYED_AGENT}"'
    return (
        f'[[agent]]\nid = "played"\nname = "Played Agent"\n{command}]\n'
        f'[[agent]]\nid = "locked"\nname = "Locked Agent"\n{command}, "--needs", "LOCKED_KEY"]\n'
        'credentials = ["env:LOCKED_KEY"]\n'
    )


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    assert PAGE.exists(), "the page is not built: cd inspector && npm ci && npm run build"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("inspector")
    agents = directory / "agents.toml"
    agents.write_text(played_agents())
    settings = {"SANDBOX_AGENT_AGENTS_FILE": str(agents)}
    with ServerProcess(directory, token=None, settings=settings) as started:
        yield started


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Servers for one test: with a token, with other settings, or to be killed."""
    started: list[ServerProcess] = []

    def start(name: str = "own", **options: object) -> ServerProcess:
        server = ServerProcess(tmp_path / name, **options).ready()  # type: ignore[arg-type]  # passed on as given
        started.append(server)
        return server

    yield start
    for server in started:
        server.end()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    context.set_default_timeout(ACTION_LIMIT_MS)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


@pytest.fixture
def open_page(context: BrowserContext) -> Iterator[Callable[[ServerProcess], InspectorPage]]:
    """Opens tabs of one browser profile; afterwards, none of them may have a violation."""
    opened: list[InspectorPage] = []

    def open_tab(server: ServerProcess, path: str = "/ui/") -> InspectorPage:
        page: Page = context.new_page()
        inspector = InspectorPage(page, server)
        opened.append(inspector)
        page.goto(inspector.address(path))
        return inspector

    yield open_tab
    violations = [violation for inspector in opened for violation in inspector.violations]
    assert violations == []


@pytest.fixture
def inspector(
    open_page: Callable[[ServerProcess], InspectorPage], server: ServerProcess
) -> Iterator[InspectorPage]:
    yield open_page(server)
    for entry in server.acp.list():
        server.acp.delete(entry["serverId"])
