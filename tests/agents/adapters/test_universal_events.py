"""One session with each vendor's program that produces every universal event type the agent can cause.

Native event -> ACP update -> universal event. Unknown events are in test_faults.py.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_agent.sdk.universal import EVENT_CLASSES, UniversalMapper
from tests.agents.adapters.adapter_process import AdapterProcess, Json
from tests.agents.adapters.recipes import adapter_of
from tests.real_agents.driver import allow
from tests.real_agents.fake_model import FakeModel

pytestmark = pytest.mark.timeout(300)
_QUESTION = "_sandboxagent/session/request_question"
_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
_TOOL = {
    "claude": "mcp__tiny__reveal",
    "codex": "reveal",
    "opencode": "tiny_reveal",
    "amp": "mcp__tiny__reveal",
}
"""The name under which the model sees the tool of the MCP server."""
_USER_REQUESTS = {"permission.requested", "permission.resolved", "question.requested", "question.resolved"}


def mcp_server(secret: str) -> Json:
    program = str(Path(__file__).with_name("mcp_server.py"))
    variables = [{"name": "TINY_SECRET", "value": secret}]
    return {"name": "tiny", "command": sys.executable, "args": ["-S", program], "env": variables}


@pytest.mark.clause(
    "spec3-converters",
    "spec4-opencode-reply-and-reject",
    "spec4-question-request-to-the-client",
    "adapters-mcp-servers-and-pictures",
)
@pytest.mark.parametrize("name", ["claude", "codex", "opencode", "amp"])
async def test_tools_of_mcp_servers_pictures_and_every_universal_event_type(
    name: str, program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    native = await asyncio.to_thread(program, f"{name}-native")
    adapter = adapter_of(name, native, model, tmp_path)
    if name == "opencode":  # Its config says which models accept images.
        adapter._env |= {"OPENCODE_CONFIG_CONTENT": _with_pictures(adapter._env["OPENCODE_CONFIG_CONTENT"])}
    async with adapter:
        session = await _begin(adapter, name)
        await _use_mcp_server(adapter, session, _TOOL[name])
        await _show_picture(adapter, session, model)
        await _ask(adapter, session, name)
        await _fail(adapter, session)
        assert (await adapter.call("session/close", sessionId=session))["result"] == {}
    mapper = UniversalMapper(session, agent=name)
    events = [event for sender, message in adapter.log for event in mapper.feed(message, sender)]
    # Amp asks nothing; tool calls of Amp and Codex have all their arguments from the start.
    without = {"amp": {*_USER_REQUESTS, "item.updated"}, "codex": {"item.updated"}}.get(name, set())
    expected = set(EVENT_CLASSES) - {"agent.unparsed"} - without
    assert {event.type for event in events} == expected
    assert events[-1].type == "session.ended"


async def _begin(adapter: AdapterProcess, name: str) -> str:
    """A session with an MCP server and a client without forms; tools are allowed."""
    adapter.policies = {
        "session/request_permission": allow,
        _QUESTION: lambda _: {"status": "answered", "answers": [["Red"]]},
    }
    await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
    servers = [mcp_server("s3cret")]
    answer = await adapter.call("session/new", cwd=str(adapter._cwd), mcpServers=servers)
    session: str = answer["result"]["sessionId"]
    if name == "amp":
        await adapter.call("session/set_mode", sessionId=session, modeId="bypass")
    return session


async def _use_mcp_server(adapter: AdapterProcess, session: str, tool: str) -> None:
    arguments = json.dumps({"word": "you"})
    answer = await adapter.prompt(session, f"[[think hm]] [[tool {tool} {arguments}]] [[shell echo ran]]")
    assert answer["result"]["stopReason"] == "end_turn"
    updates = [params["update"] for params in adapter.params("session/update")]
    calls = [update for update in updates if update["sessionUpdate"].startswith("tool_call")]
    assert any("s3cret for you" in json.dumps(call) and call["status"] == "completed" for call in calls)


async def _show_picture(adapter: AdapterProcess, session: str, model: FakeModel) -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": _PICTURE}
    prompt = [{"type": "text", "text": "[[say I see]]"}, picture]
    answer = await adapter.call("session/prompt", sessionId=session, prompt=prompt)
    assert answer["result"]["stopReason"] == "end_turn"
    assert model.was_sent(_PICTURE)


async def _ask(adapter: AdapterProcess, session: str, name: str) -> None:
    """Clients without forms get questions by the extension of spec 4."""
    if name == "amp":
        return
    if name == "codex":
        params = {"sessionId": session, "configId": "collaboration_mode", "value": "plan"}
        await adapter.call("session/set_config_option", **params)
    answer = await adapter.prompt(session, "[[ask Which colour?]]")
    assert answer["result"]["stopReason"] == "end_turn"
    (question,) = adapter.params(_QUESTION)
    assert question["prompt"] == "Which colour?"
    assert [option[:2] for option in question["options"]] == [["Red", "Red"], ["Blue", "Blue"]]


async def _fail(adapter: AdapterProcess, session: str) -> None:
    answer = await adapter.prompt(session, "[[error 400]]")
    assert answer["error"]["data"]["reason"] == "native_error", answer


def _with_pictures(config: str) -> str:
    document = json.loads(config)
    model = document["provider"]["fake"]["models"]["fake-model"]
    model |= {"attachment": True, "modalities": {"input": ["text", "image"], "output": ["text"]}}
    return json.dumps(document)
