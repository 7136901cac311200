"""Compare two real agents: Claude Code and Codex from npm, with the fake model in place of their vendors'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.sessions.comparison import column, result, worktrees
from tests.real_agents import conftest as real_agents
from tests.real_agents.conftest import data_home as data_home
from tests.real_agents.conftest import model as model
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.recipes import RECIPES
from tests.support.git_repository import commit_files
from tests.support.polling import wait_until
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.node, pytest.mark.network]
CANDIDATES = ("claude", "codex")
TURN_LIMIT_MS = 90_000
# The worktree's name differs, so both change the same line in different ways.
PROMPT = (
    "[[shell echo by ${PWD##*-} > greeting.txt; echo new > ${PWD##*-}.txt]] [[say the greeting is changed]]"
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return commit_files(tmp_path / "project", {"greeting.txt": "hello\n"})


@pytest.fixture
def agents_server(tmp_path: Path, data_home: Path, model: FakeModel) -> Iterator[ServerProcess]:
    """A server with both agents installed, whose environment has everything but the key of Claude Code."""
    variables: dict[str, str] = {}
    for agent in CANDIDATES:
        variables |= {name: text.replace("{base}", model.base) for name, text in RECIPES[agent].env.items()}
    del variables["ANTHROPIC_API_KEY"]
    with real_agents.start_server(tmp_path / "server", data_home, variables) as running:
        for agent in CANDIDATES:
            installed = httpx.post(
                f"http://127.0.0.1:{running.port}/v1/agents/{agent}/install", json={}, timeout=400
            )
            assert installed.status_code == 200, installed.text
        yield running


def allow(candidate: Locator) -> None:
    candidate.locator("form[data-state=pending]").first.wait_for(timeout=TURN_LIMIT_MS)
    candidate.locator("form[data-state=pending] .option.allow").first.click()


@pytest.mark.clause("inspector-compare")
@pytest.mark.timeout(600)
def test_two_real_agents_are_compared_and_one_is_kept(
    agents_server: ServerProcess, open_page: Callable[..., InspectorPage], repository: Path
) -> None:
    inspector = open_page(agents_server, "/ui/compare")
    page = inspector.page
    page.get_by_role("main").get_by_label("Directory").fill(str(repository))
    page.get_by_label("Prompt").fill(PROMPT)
    page.get_by_label("Test command").fill("grep -q codex greeting.txt")
    for number, agent in enumerate(CANDIDATES, 1):
        page.get_by_label(f"Agent {number}").select_option(agent)
    first = page.locator(".compare-candidate").first
    first.get_by_label("Variable").select_option("ANTHROPIC_API_KEY")
    first.get_by_label("Key", exact=True).fill("key-of-the-test")
    page.get_by_role("button", name="Start", exact=True).click()
    page.wait_for_url(re.compile(r"/ui/compare/[0-9a-f]+"))

    for number in (1, 2):
        allow(column(inspector, number))
    for number in (1, 2):
        expect(column(inspector, number)).to_contain_text("the greeting is changed", timeout=TURN_LIMIT_MS)
        expect(result(inspector, number)).to_contain_text("end turn", timeout=TURN_LIMIT_MS)
        expect(result(inspector, number)).to_contain_text("2 files +2 -1")
        expect(result(inspector, number).locator(".number").nth(1)).to_contain_text(re.compile(r"^[\d,]+$"))
    expect(result(inspector, 1)).to_contain_text("failed (1)")
    expect(result(inspector, 2)).to_contain_text("passed")
    greeting = page.get_by_role("region", name="Diff against diff").locator("[data-path='greeting.txt']")
    expect(greeting).to_contain_text("by claude")
    expect(greeting).to_contain_text("by codex")
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert "key-of-the-test" not in stored

    result(inspector, 2).get_by_role("button", name="Keep this one").click()
    expect(result(inspector, 2)).to_contain_text("kept")
    assert (repository / "greeting.txt").read_text() == "by codex\n"
    assert (repository / "codex.txt").read_text() == "new\n"
    result(inspector, 1).get_by_role("button", name="Keep this one").click()
    expect(page.get_by_role("region", name="Results").get_by_role("alert")).to_contain_text("greeting.txt")
    assert (repository / "greeting.txt").read_text() == "by codex\n"
    assert not (repository / "claude.txt").exists()

    # Another browser knows nothing of the comparison, and finds what it left.
    page.evaluate("localStorage.removeItem('sandbox-agent-inspector-comparisons')")
    page.goto(inspector.address("/ui/compare"))
    left = page.get_by_role("region", name="Worktrees of comparisons")
    expect(left.get_by_role("listitem")).to_have_count(2)
    for count in (1, 0):
        left.get_by_role("button", name="Remove").first.click()
        left.get_by_role("button", name="Drop its changes?").click()
        expect(left.get_by_role("listitem")).to_have_count(count)
    assert worktrees(repository) == []
    for entry in agents_server.acp.list():
        agents_server.acp.delete(entry["serverId"])
    wait_until(lambda: agents_server.acp.list() == [], 20, "both processes ended")
