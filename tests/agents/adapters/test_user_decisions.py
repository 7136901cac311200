"""Adapters with the vendors' programs: rejected questions, plans, cancelled turns, environment keys."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_agent.sdk.universal import UniversalMapper, meta, replies
from tests.agents.adapters.adapter_process import Json
from tests.agents.adapters.recipes import adapter_of
from tests.real_agents import home_processes
from tests.real_agents.driver import choose, reject
from tests.real_agents.fake_model import FakeModel
from tests.support.polling import eventually

pytestmark = pytest.mark.timeout(300)
_QUESTION = "_sandboxagent/session/request_question"
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


_OPTIONS = [{"label": "Red", "description": "Warm"}, {"label": "Blue", "description": "Cold"}]
_ASKED = {"header": "Choice", "question": "Which colours?", "options": _OPTIONS}
_QUESTIONS = {
    "claude": ("AskUserQuestion", {**_ASKED, "multiSelect": True}),
    "opencode": ("question", {**_ASKED, "multiple": True}),
    "codex": ("request_user_input", {**_ASKED, "id": "colours"}),
}


@pytest.mark.clause("events-multi-select", "spec2-3.3-question-reply")
@pytest.mark.parametrize("name", _QUESTIONS)
async def test_a_client_without_forms_gives_several_answers_and_its_own_words(
    name: str, program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    """The SDK reads the question and writes the answer. Codex has no questions with several answers."""
    tool, question = _QUESTIONS[name]
    answers = ["Green"] if name == "codex" else ["Red", "Blue", "Green"]
    native = await asyncio.to_thread(program, name)
    mapper = UniversalMapper("s1")

    def answer(params: Json) -> Json:
        request = {"jsonrpc": "2.0", "id": 1, "method": _QUESTION, "params": params}
        mapper.feed(request, "agent", time=0)
        return replies.question_result([*mapper.pending_questions.values()], answers)

    async with adapter_of(name, native, model, tmp_path) as adapter:
        session = await adapter.begin()
        if name == "codex":
            params = {"sessionId": session, "configId": "collaboration_mode", "value": "plan"}
            await adapter.call("session/set_config_option", **params)
        adapter.policies = {_QUESTION: answer}
        await adapter.prompt(session, f"[[tool {tool} {json.dumps({'questions': [question]})}]]")
    (pending,) = mapper.pending_questions.values()
    assert (pending.multi_select, pending.allow_other) == (name != "codex", True)
    assert [option.description for option in pending.options][:2] == ["Warm", "Cold"]
    told = json.dumps(adapter.params("session/update"))
    assert all(words in told for words in answers)


@pytest.mark.clause("events-legacy-produced")
async def test_messages_of_an_adapter_carry_the_envelope_of_their_event(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    claude = await asyncio.to_thread(program, "claude")
    async with adapter_of("claude", claude, model, tmp_path) as adapter:
        session = await adapter.begin()
        await adapter.prompt(session, "[[say Hello]]")
    mapper = UniversalMapper("s1")
    events = [event for sender, message in adapter.log for event in mapper.feed(message, sender, time=0)]
    sent = [
        meta.legacy_event_of(message) for _, message in adapter.log if "update" in message.get("params", {})
    ]
    carried = [envelope.event_id for envelope in sent if envelope is not None]
    assert carried and len(carried) == len(sent)
    told = {event.event_id: event for event in events}
    assert {told[one].native_session_id for one in carried if one in told} == {session}
    assert any(event.type == "item.delta" and event.event_id in carried for event in events)


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


@pytest.mark.clause("sdk-tool-hooks")
async def test_claude_runs_a_tool_with_the_input_that_the_user_has_changed(
    program: Callable[[str], Path], model: FakeModel, tmp_path: Path
) -> None:
    claude = await asyncio.to_thread(program, "claude")
    asked_for, wanted = tmp_path / "asked-for", tmp_path / "wanted"

    def change(params: Json) -> Json:
        changed = {**params["toolCall"]["rawInput"], "command": f"touch {wanted}"}
        return meta.with_meta(choose(params, "allow_once"), updatedInput=changed)

    async with adapter_of("claude", claude, model, tmp_path) as adapter:
        session = await adapter.begin()
        adapter.policies = {"session/request_permission": change}
        await adapter.prompt(session, f"[[shell touch {asked_for}]]")
    assert wanted.exists() and not asked_for.exists()
    assert f"touch {wanted}" in json.dumps(adapter.params("session/update"))


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
