"""What the page shows of a comparison of agents, and the worktrees behind it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator

from tests.browser.inspector_page import InspectorPage


def column(page: InspectorPage, number: int) -> Locator:
    return page.page.locator(f".compare-column[data-candidate='{number}']")


def result(page: InspectorPage, number: int) -> Locator:
    return page.page.locator(f".compare-table tr[data-candidate='{number}']")


def worktrees(repository: Path) -> list[Path]:
    folder = repository / ".sandbox-agent" / "worktrees"
    return sorted(folder.iterdir()) if folder.exists() else []
