"""Questions and plans of Claude without a permission request are answered with a tool result (spec 4)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.agents.adapters.adapter_process import AdapterProcess, Json
from tests.real_agents.driver import choose, reject

pytestmark = pytest.mark.timeout(120)
_PROGRAM = Path(__file__).with_name("fake_claude.py")
_QUESTION = "_sandboxagent/session/request_question"
_ASKED = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]}


@pytest.fixture
async def claude(tmp_path: Path) -> AsyncIterator[AdapterProcess]:
    program = tmp_path / "claude"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {_PROGRAM} "$@"\n')
    program.chmod(0o755)
    async with AdapterProcess("claude", program, tmp_path, {"HOME": str(tmp_path)}) as adapter:
        yield adapter


async def answered(adapter: AdapterProcess, session: str, prompt: str, arguments: Json) -> Json:
    """The answer that the program received."""
    since = len(adapter.messages)
    turn = await adapter.prompt(session, f"{prompt} {json.dumps(arguments)}")
    assert turn["result"]["stopReason"] == "end_turn", turn
    updates = [message.get("params", {}).get("update", {}) for message in adapter.messages[since:]]
    (text,) = [u["content"]["text"] for u in updates if u.get("sessionUpdate") == "agent_message_chunk"]
    answer: Json = json.loads(text)
    return answer


@pytest.mark.clause("spec4-claude-tool-result")
async def test_a_question_without_permission_is_answered_with_a_tool_result(claude: AdapterProcess) -> None:
    session = await claude.begin()
    claude.policies = {_QUESTION: lambda _: {"status": "answered", "answers": [["Red"]]}}
    answer = await answered(claude, session, "loose AskUserQuestion", _ASKED)
    assert answer == {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "call-1", "content": "Which colour? Red"}],
    }
    claude.policies = {_QUESTION: lambda _: {"status": "rejected"}}
    answer = await answered(claude, session, "loose AskUserQuestion", _ASKED)
    (block,) = answer["content"]
    assert block["tool_use_id"] == "call-1" and block["is_error"] is True
    assert [params["prompt"] for params in claude.params(_QUESTION)] == ["Which colour?"] * 2


@pytest.mark.clause("spec4-claude-tool-result")
async def test_a_plan_without_permission_is_approved_or_rejected_with_a_tool_result(
    claude: AdapterProcess,
) -> None:
    session = await claude.begin()
    claude.policies = {"session/request_permission": lambda params: choose(params, "allow_once")}
    answer = await answered(claude, session, "loose ExitPlanMode", {"plan": "paint it red"})
    assert answer["content"][0]["content"] == "The user approved the plan."
    assert "is_error" not in answer["content"][0]
    claude.policies = {"session/request_permission": reject}
    answer = await answered(claude, session, "loose ExitPlanMode", {"plan": "paint it red"})
    assert answer["content"][0]["is_error"] is True
    asked = claude.params("session/request_permission")
    assert [request["toolCall"]["kind"] for request in asked] == ["switch_mode", "switch_mode"]


@pytest.mark.clause("spec4-claude-tool-result")
async def test_a_late_permission_request_gets_the_answer_and_the_user_is_asked_once(
    claude: AdapterProcess, tmp_path: Path
) -> None:
    session = await claude.begin()
    asked = tmp_path / "asked"
    claude.policies = {_QUESTION: lambda _: asked.touch()}
    arguments = {**_ASKED, "asked": str(asked)}
    turn = asyncio.create_task(answered(claude, session, "late AskUserQuestion", arguments))
    await claude.wait_for(lambda message: "permission was asked for" in json.dumps(message))
    (question,) = [message for message in claude.messages if message.get("method") == _QUESTION]
    claude.respond(question, {"status": "answered", "answers": [["Blue"]]})
    response = (await turn)["response"]
    assert response["behavior"] == "allow"
    assert response["updatedInput"]["answers"] == {"Which colour?": "Blue"}
    assert len(claude.params(_QUESTION)) == 1
