"""Hooks around tools and limits of a session, with real agents and the fake model."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_agent import Deny, LimitExceededError, ToolUse, UnsupportedSessionOptionError
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.sdk.conftest import OpenSession

pytestmark = pytest.mark.timeout(600)
AGENTS = ("claude", "codex", "opencode", "gemini")


@pytest.mark.clause("sdk-tool-hooks")
@pytest.mark.parametrize("agent", AGENTS)
async def test_hooks_are_called_once_around_a_tool(agent: str, opened: OpenSession) -> None:
    called: list[tuple[str, ToolUse]] = []
    session = await opened(
        agent,
        before_tool=lambda use: called.append(("before", use)),
        after_tool=lambda use: called.append(("after", use)),
    )
    marker = Path(session.directory) / "touched"
    await session.prompt(f"[[shell touch {marker}]] [[say done]]")
    assert marker.exists()
    assert [when for when, _ in called] == ["before", "after"]
    assert called[0][1].call_id == called[1][1].call_id and called[1][1].status == "completed"
    assert called[0][1].kind in ("execute", "other")


@pytest.mark.clause("sdk-tool-hooks")
@pytest.mark.parametrize("agent", AGENTS)
async def test_a_denied_tool_does_not_run(agent: str, opened: OpenSession, model: FakeModel) -> None:
    ended: list[ToolUse] = []
    session = await opened(
        agent, before_tool=lambda use: Deny(f"no commands for {agent}"), after_tool=ended.append
    )
    marker = Path(session.directory) / "touched"
    await session.prompt(f"[[shell touch {marker}]] [[say done]]")
    assert not marker.exists()
    assert [use.status for use in ended] == ["failed"]
    assert "goes on" in (await session.prompt("[[say it goes on]]")).text
    if agent == "claude":
        # It can be steered and goes on after a rejection, so the model has the reason.
        assert model.was_sent(f"no commands for {agent}")


@pytest.mark.clause("sdk-agent-options")
@pytest.mark.parametrize("agent", AGENTS)
async def test_a_turn_with_too_many_answers_is_cancelled(agent: str, opened: OpenSession) -> None:
    session = await opened(agent, max_turns=2)
    short = await session.prompt("[[shell true]] [[say done]]")
    assert "done" in short.text and short.stop_reason == "end_turn"
    marker = Path(session.directory) / "last"
    with pytest.raises(LimitExceededError, match="max_turns") as failure:
        await session.prompt(f"[[shell true]] [[shell true]] [[slow 30 0.2]] [[shell touch {marker}]]")
    assert failure.value.result is not None and len(failure.value.result.tool_calls) == 2
    assert not marker.exists()
    assert "done" in (await session.prompt("[[say done]]")).text


@pytest.mark.clause("sdk-agent-options")
async def test_claude_stops_at_its_limit_of_cost(opened: OpenSession) -> None:
    session = await opened("claude", max_cost=0.000001)
    with pytest.raises(LimitExceededError, match="max_cost") as failure:
        await session.prompt("[[say hello]]")
    assert failure.value.result is not None and session.usage.cost is not None
    with pytest.raises(LimitExceededError):
        await session.prompt("[[say more]]")


@pytest.mark.clause("sdk-agent-options")
@pytest.mark.parametrize("agent", ["codex", "gemini"])
async def test_an_agent_without_a_cost_cannot_be_limited_by_it(agent: str, opened: OpenSession) -> None:
    session = await opened(agent, max_cost=1.0)
    with pytest.raises(UnsupportedSessionOptionError, match="max_cost") as failure:
        await session.prompt("[[say hello]]")
    assert failure.value.result is not None and "hello" in failure.value.result.text
