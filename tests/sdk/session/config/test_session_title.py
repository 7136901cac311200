"""The title of a session, told to agents that would ask a model for one."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, asgi

pytestmark = pytest.mark.clause("sdk-agent-options")

TITLED_AGENT = """
import json, sys

for line in sys.stdin:
    request = json.loads(line)
    answer = {"result": {}}
    if request["method"] == "initialize":
        able = {"sessionCapabilities": {"title": {}}}
        answer = {"result": {"protocolVersion": 1, "agentCapabilities": able}}
    elif request["method"] == "session/new":
        answer = {"result": {"sessionId": "s1"}}
    elif request["method"] == "session/set_title" and request["params"]["title"] == "taken":
        answer = {"error": {"code": -32602, "message": "there is one of that title"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}), flush=True)
"""


async def sent(session: Any, method: str) -> list[dict[str, Any]]:
    return [message["params"] for message in await session.raw_events() if message.get("method") == method]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[AsyncSandboxAgent]:
    """With the agent above under two names."""
    program = tmp_path / "titled.py"
    program.write_text(TITLED_AGENT)
    agents = {name: {"command": sys.executable, "args": [str(program)]} for name in ("titled", "claude")}
    async with AsyncSandboxAgent.start(asgi(), agents=agents, default_directory=tmp_path) as made:
        yield made


async def test_title_is_set_in_an_agent_that_takes_titles(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("titled", title="t" * 500)
    assert await sent(session, "session/set_title") == [{"sessionId": "s1", "title": "t" * 200}]
    assert "claudeCode" not in (await sent(session, "session/new"))[0]["_meta"]
    plain = await client.sessions.create("titled")
    assert await sent(plain, "session/set_title") == []


async def test_refused_title_does_not_end_the_session(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("titled", title="taken")
    assert "there is one of that title" in session.restored.not_applied["title"]


async def test_claude_gets_the_title_with_its_own_options(client: AsyncSandboxAgent) -> None:
    given = {"_meta": {"claudeCode": {"options": {"tools": []}, "emitRawSDKMessages": True}}}
    session = await client.sessions.create("claude", title="A title", session_init=given)
    assert (await sent(session, "session/new"))[0]["_meta"]["claudeCode"] == {
        "options": {"tools": [], "title": "A title"},
        "emitRawSDKMessages": True,
    }
