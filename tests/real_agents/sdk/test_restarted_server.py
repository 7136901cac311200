"""Sessions of real agents on the next server: one turn more, and nothing of the history a second time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent
from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import CI_AGENTS, RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)
AGENTS = [
    pytest.param(agent, marks=() if agent in CI_AGENTS else pytest.mark.full)
    for agent, recipe in RECIPES.items()
    if recipe.loads_sessions
]


@pytest.mark.clause("events-repeated-history")
@pytest.mark.parametrize("agent", AGENTS)
async def test_a_restored_session_has_its_history_once(
    agent: str, server: ServerProcess, data_home: Path, model: FakeModel, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(RECIPES[agent], http, model.base, tmp_path / "agent")
    store = tmp_path / "sessions.db"
    for number, text in enumerate(("first", "second")):
        own = await asyncio.to_thread(start_server, tmp_path / f"server-{number}", data_home, matrix.env)
        try:
            async with AsyncSandboxAgent.connect(f"http://127.0.0.1:{own.port}", store=store) as sdk:
                if number == 0:
                    session = await sdk.sessions.create(agent, id="mine", directory=matrix.cwd)
                else:
                    session = await sdk.sessions.resume("mine")
                    assert session.restored.method in ("resumed", "loaded")
                result = await session.prompt(f"[[say the {text} answer]]")
                assert result.text.strip() == f"the {text} answer"
                events = await session.events()
        finally:
            await asyncio.to_thread(own.stop)
            assert not own.kill_leftovers()
    said = [
        part.text
        for event in events
        if event.type == "item.completed" and event.item.role == "user"
        for part in event.item.content
        if part.type == "text"
    ]
    assert said == ["[[say the first answer]]", "[[say the second answer]]"]
    counts = [sum(event.type == kind for event in events) for kind in ("turn.started", "turn.ended")]
    assert counts == [2, 2] and not any(event.type == "agent.unparsed" for event in events)
