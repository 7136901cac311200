"""Tools of MCP servers in codex-native: the user allows or rejects them, and fills in the servers' forms."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agents.adapters.adapter_process import AdapterProcess, Json
from tests.agents.adapters.recipes import adapter_of
from tests.real_agents.driver import choose, reject
from tests.real_agents.fake_model import FakeModel

pytestmark = pytest.mark.timeout(300)
_FORMS = {"elicitation": {"form": {}}}


@asynccontextmanager
async def ordering(
    program: Callable[[str], Path], model: FakeModel, directory: Path
) -> AsyncIterator[tuple[AdapterProcess, Callable[[], asyncio.Future[Json]]]]:
    """An adapter with a session, and a function that lets its model call the tool of the MCP server."""
    native = await asyncio.to_thread(program, "codex")
    script = str(Path(__file__).with_name("asking_mcp_server.py"))
    shop = {"name": "shop", "command": sys.executable, "args": ["-S", script], "env": []}
    async with adapter_of("codex", native, model, directory) as adapter:
        await adapter.call("initialize", protocolVersion=1, clientCapabilities=_FORMS)
        opened = await adapter.call("session/new", cwd=str(directory), mcpServers=[shop])
        session = opened["result"]["sessionId"]
        yield adapter, lambda: asyncio.ensure_future(adapter.prompt(session, "[[tool order {}]]"))


@pytest.mark.clause("adapters-mcp-servers-and-pictures")
async def test_the_user_allows_a_tool_once_or_for_the_session_and_fills_in_the_form_of_its_server(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    async with ordering(program, model, tmp_path) as (adapter, order):
        filled = {"action": "accept", "content": {"size": "large"}}
        adapter.policies = {
            "session/request_permission": lambda params: choose(params, "allow_once"),
            "elicitation/create": lambda _: filled,
        }
        await order()
        (asked,) = adapter.params("session/request_permission")
        updates = [params["update"] for params in adapter.params("session/update")]
        (call,) = [one for one in updates if one["sessionUpdate"] == "tool_call"]
        assert (asked["toolCall"]["toolCallId"], call["title"]) == (call["toolCallId"], "shop.order")
        (form,) = adapter.params("elicitation/create")
        assert form["message"] == "Which size?" and form["requestedSchema"]["required"] == ["size"]
        assert "large" in json.dumps(updates)

        adapter.policies["session/request_permission"] = lambda params: choose(params, "allow_always")
        await order()
        await order()
        assert len(adapter.params("session/request_permission")) == 2
        assert len(adapter.params("elicitation/create")) == 3
        assert adapter.params("_sandboxagent/agent/unparsed") == []


@pytest.mark.clause("adapters-mcp-servers-and-pictures")
async def test_a_rejected_tool_does_not_run(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    async with ordering(program, model, tmp_path) as (adapter, order):
        adapter.policies = {"session/request_permission": reject}
        answer = await order()
        assert answer["result"]["stopReason"] == "end_turn"
        assert adapter.params("elicitation/create") == []
        assert "user rejected MCP tool call" in json.dumps(adapter.params("session/update"))
