"""Agents that the catalogue describes as asking before every change: a client that rejects sees no change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_agent import PermissionRequest, auto_reject
from sandbox_agent.agents.catalog.catalog import Catalog
from tests.real_agents.recipes import CI_AGENTS, RECIPES
from tests.real_agents.sdk.conftest import OpenSession

pytestmark = pytest.mark.timeout(600)
AGENTS = [
    pytest.param(agent, marks=() if agent in CI_AGENTS else pytest.mark.full)
    for agent in RECIPES
    if Catalog().get(agent).asks == "always"
]


@pytest.mark.clause("agents-never-ask")
@pytest.mark.parametrize("agent", AGENTS)
async def test_nothing_is_written_or_run_if_the_user_rejects_it(agent: str, opened: OpenSession) -> None:
    session = await opened(agent, on_permission=auto_reject)
    directory = Path(session.directory)
    await session.prompt(f"[[write {directory}/written.txt text]]")
    await session.prompt(f"[[shell touch {directory}/touched]]")
    assert not {"written.txt", "touched"} & set(os.listdir(directory))


@pytest.mark.full
@pytest.mark.clause("agents-never-ask")
async def test_nanocoder_asks_for_writes_in_another_mode_only(opened: OpenSession) -> None:
    asked: list[PermissionRequest] = []

    def reject(request: PermissionRequest) -> str:
        asked.append(request)
        return "reject"

    for mode, written in (("auto-accept", True), ("normal", False)):
        asked.clear()
        session = await opened("nanocoder", on_permission=reject, mode=mode)
        await session.prompt(f"[[write {session.directory}/written.txt text]]")
        assert (Path(session.directory) / "written.txt").exists() is written and bool(asked) is not written
