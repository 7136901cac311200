"""Parts of the SDK that depend on the agent, with real agents and the fake model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_agent import SteeringError, UnsupportedSessionOptionError, tool
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.sdk.conftest import OpenSession

pytestmark = pytest.mark.timeout(600)


@dataclass
class Review:
    verdict: str
    problems: list[str]


@pytest.mark.clause("sdk-tools")
@pytest.mark.parametrize(
    ("agent", "name"),
    [("claude", "mcp__client__order_status"), ("codex", "order_status"), ("opencode", "client_order_status")],
)
async def test_a_real_agent_calls_a_function_of_this_program(
    agent: str, name: str, opened: OpenSession
) -> None:
    asked: list[str] = []

    @tool
    def order_status(order_id: str) -> str:
        """The status of an order."""
        asked.append(order_id)
        return f"order {order_id} was shipped"

    session = await opened(agent, tools=[order_status])
    # Some agents connect to their MCP servers in the background.
    for _ in range(20):
        result = await session.prompt(f'[[tool {name} {{"order_id": "A-17"}}]]')
        if asked:
            break
    assert asked == ["A-17"]
    assert "order A-17 was shipped" in result.text


@pytest.mark.clause("sdk-agent-options")
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_a_system_prompt_reaches_the_model(agent: str, opened: OpenSession, model: FakeModel) -> None:
    session = await opened(agent, system_prompt=f"Answer as a pirate {agent}.")
    await session.prompt("[[say aye]]")
    assert model.was_sent(f"Answer as a pirate {agent}.")


@pytest.mark.clause("sdk-agent-options")
async def test_claude_has_the_allowed_tools_only(opened: OpenSession) -> None:
    session = await opened("claude", allowed_tools=["Read"])
    refused = await session.prompt("[[shell echo hi]]")
    assert "no tool for shell here" in refused.text
    (Path(session.directory) / "a.txt").write_text("the content")
    assert "the content" in (await session.prompt(f"[[read {session.directory}/a.txt]]")).text


@pytest.mark.clause("sdk-steer-and-fork")
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_a_running_turn_is_steered(agent: str, opened: OpenSession, model: FakeModel) -> None:
    session = await opened(agent)
    turn = session.start("[[slow 40 0.2]]")
    async for text in turn.text_deltas:
        if "tick 2" in text:
            break
    await session.steer(f"Please use {agent} tabs. [[say noted]]")
    await turn.result()
    assert model.was_sent(f"Please use {agent} tabs.")


@pytest.mark.clause("sdk-steer-and-fork")
@pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
async def test_a_session_is_forked(agent: str, opened: OpenSession, model: FakeModel) -> None:
    session = await opened(agent)
    await session.prompt(f"[[say the {agent} password is swordfish]]")
    fork = await session.fork()
    result = await fork.prompt("[[say forked]]")
    assert "forked" in result.text and fork.native_session_id != session.native_session_id
    assert "goes on" in (await session.prompt("[[say the first goes on]]")).text


@pytest.mark.clause("sdk-structured-output")
@pytest.mark.parametrize("agent", ["claude", "codex"])
async def test_the_answer_of_a_real_agent_becomes_a_value(
    agent: str, opened: OpenSession, model: FakeModel
) -> None:
    session = await opened(agent)
    result = await session.prompt('[[say {"verdict": "good", "problems": ["one"]}]]', output=Review)
    assert result.output == Review("good", ["one"])
    assert model.was_sent("problems") and result.usage is not None


@pytest.mark.clause("sdk-agent-options", "sdk-steer-and-fork")
async def test_what_an_agent_cannot_do_is_said(opened: OpenSession) -> None:
    for option in ({"allowed_tools": ["bash"]}, {"system_prompt": "Be brief."}):
        with pytest.raises(UnsupportedSessionOptionError, match=next(iter(option))):
            await opened("gemini", **option)
    session = await opened("gemini")
    with pytest.raises(UnsupportedSessionOptionError, match="fork"):
        await session.fork()
    turn = session.start("[[slow 20 0.2]]")
    async for _ in turn.text_deltas:
        with pytest.raises(SteeringError) as failure:
            await session.steer("faster")
        assert failure.value.reason == "unsupported"
        break
    await turn.cancel()
    await turn.result()
