"""Sessions of the SDK with real agents that are installed and use the fake model."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from sandbox_agent import AsyncSandboxAgent, AsyncSession, auto_approve
from tests.real_agents.conftest import client
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess

# Claude shows a model its MCP tools only after a search, which the fake model does not do.
MORE_VARIABLES = {"claude": {"ENABLE_TOOL_SEARCH": "false"}}


class OpenSession(Protocol):
    def __call__(self, agent: str, **options: Any) -> Awaitable[AsyncSession]: ...


@pytest.fixture
async def opened(server: ServerProcess, model: FakeModel, tmp_path: Path) -> AsyncIterator[OpenSession]:
    """Opens sessions; their options are those of `sessions.create`."""
    count = 0
    async with AsyncExitStack() as stack:

        async def open_session(agent: str, **options: Any) -> AsyncSession:
            nonlocal count
            count += 1
            async with client(server) as http:
                await install(http, agent)
                recipe = RECIPES[agent]
                matrix = Matrix(recipe, http, model.base, tmp_path / f"{agent}-{count}")
            sdk = AsyncSandboxAgent.connect(f"http://127.0.0.1:{server.port}")
            opened = await stack.enter_async_context(sdk)
            options = {
                "env": {**matrix.env, **MORE_VARIABLES.get(agent, {})},
                "directory": matrix.cwd,
                "on_permission": auto_approve,
                **({"mode": recipe.mode_for_tools} if recipe.mode_for_tools else {}),
                **options,
            }
            return await opened.sessions.create(agent, **options)

        yield open_session
