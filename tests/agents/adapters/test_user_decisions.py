"""Adapters with the vendors' programs: rejected questions, plans, cancelled turns, environment keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.adapters.recipes import adapter_of
from tests.real_agents import home_processes
from tests.real_agents.driver import choose, reject
from tests.real_agents.fake_model import FakeModel
from tests.support.polling import eventually

pytestmark = pytest.mark.timeout(300)
_FORMS = {"elicitation": {"form": {}}}


@pytest.mark.clause("spec4-claude-reject", "spec4-opencode-reply-and-reject")
@pytest.mark.parametrize(("name", "words"), [("claude", "did not answer"), ("opencode", "dismissed")])
async def test_the_program_learns_that_a_question_was_rejected(
    name: str, words: str, program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    native = await asyncio.to_thread(program, name)
    async with adapter_of(name, native, model, tmp_path) as adapter:
        session = await adapter.begin()
        adapter.policies = {"_sandboxagent/session/request_question": lambda _: {"status": "rejected"}}
        answer = await adapter.prompt(session, "[[ask Which colour?]]")
    assert answer["result"]["stopReason"] == "end_turn"
    assert words in json.dumps(adapter.params("session/update"))


@pytest.mark.clause("spec3-human-in-the-loop")
async def test_claudes_plan_is_approved_or_kept(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    """ExitPlanMode is offered in plan mode only, and asks with the kind `switch_mode`."""
    claude = await asyncio.to_thread(program, "claude")
    plan = '[[tool ExitPlanMode {"plan": "paint it red"}]]'
    async with adapter_of("claude", claude, model, tmp_path) as adapter:
        session = await adapter.begin(_FORMS)
        adapter.policies = {"session/request_permission": reject}
        await adapter.call("session/set_mode", sessionId=session, modeId="plan")
        await adapter.prompt(session, plan)
        assert not adapter.modes()
        adapter.policies = {"session/request_permission": lambda params: choose(params, "allow_once")}
        await adapter.prompt(session, plan)
    asked = adapter.params("session/request_permission")
    assert [request["toolCall"]["kind"] for request in asked] == ["switch_mode", "switch_mode"]
    kinds = [option["kind"] for option in asked[0]["options"]]
    assert kinds == ["allow_once", "allow_always", "reject_once"]
    assert adapter.modes() == ["default"]


@pytest.mark.clause("spec3-credentials-by-environment")
async def test_a_key_from_the_environment_is_enough_for_codex_and_is_not_stored(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    codex = await asyncio.to_thread(program, "codex")
    adapter = adapter_of("codex", codex, model, tmp_path)
    config = {"openai_base_url": f"{model.base}/v1", "check_for_update_on_startup": False}
    adapter._env |= {"CODEX_CONFIG": json.dumps(config), "OPENAI_API_KEY": "dummy"}
    async with adapter:
        session = await adapter.begin()
        answer = await adapter.prompt(session, "[[say Hello]]")
    assert answer["result"]["stopReason"] == "end_turn"
    stored = sorted((tmp_path / "home").rglob("auth.json"))
    assert stored == []


@pytest.mark.clause("spec3-codex-approvals")
async def test_cancelling_a_turn_ends_its_open_permission_request(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    codex = await asyncio.to_thread(program, "codex")
    async with adapter_of("codex", codex, model, tmp_path) as adapter:
        session = await adapter.begin()
        adapter.policies = {"session/request_permission": lambda _: None}
        prompt = asyncio.create_task(adapter.prompt(session, "[[shell touch /nowhere/x]]"))
        await adapter.wait_for(lambda message: message.get("method") == "session/request_permission")
        adapter.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"]["stopReason"] == "cancelled"


@pytest.mark.clause("spec3-amp-subprocess-per-turn")
async def test_cancelling_amp_during_a_tool_ends_the_tool(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    amp = await asyncio.to_thread(program, "amp-native")
    endless = tmp_path / "endless"
    async with adapter_of("amp", amp, model, tmp_path) as adapter:
        session = await adapter.begin()
        await adapter.call("session/set_mode", sessionId=session, modeId="bypass")
        await asyncio.to_thread(endless.touch)
        prompt = asyncio.create_task(adapter.prompt(session, f"[[shell tail -f {endless}]]"))
        await eventually(lambda: home_processes.running("tail", "-f", str(endless)), 60)
        adapter.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"]["stopReason"] == "cancelled"
        assert not home_processes.running("tail", "-f", str(endless))
