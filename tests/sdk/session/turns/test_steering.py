"""`session.steer()`: another message for the running turn."""

from __future__ import annotations

import pytest

from sandbox_agent import AsyncSandboxAgent, SteeringError

pytestmark = pytest.mark.clause("sdk-steer-and-fork")


async def test_a_message_reaches_the_running_turn(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    turn = session.start("hang")
    await session.steer("look at the tests too")
    async for text in turn.text_deltas:
        if "You added: look at the tests too" in text:
            break
    await turn.cancel()
    result = await turn.result()
    said = [(item.role, item.content[0].text) for item in result.items if item.kind == "message"]  # type: ignore[union-attr]
    assert ("user", "look at the tests too") in said
    assert [event.type for event in await session.events()].count("turn.started") == 1


async def test_what_cannot_be_steered_is_named(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.raises(SteeringError) as caught:
        await session.steer("hello")
    assert caught.value.reason == "no_turn"
    other = await client.sessions.create("amp")
    turn = other.start("ask")
    with pytest.raises(SteeringError) as caught:
        await other.steer("hello")
    assert caught.value.reason == "unsupported"
    await turn.cancel()
    await turn.result()
