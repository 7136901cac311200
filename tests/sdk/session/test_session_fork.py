"""`session.fork()`: a second session that knows the conversation so far."""

from __future__ import annotations

import pytest

from sandbox_agent import (
    AsyncSandboxAgent,
    ConcurrentPromptError,
    SandboxAgent,
    SessionAlreadyExistsError,
    UnsupportedSessionOptionError,
    asgi,
)

pytestmark = pytest.mark.clause("sdk-steer-and-fork")


async def test_both_sessions_go_on_by_themselves(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", title="First")
    await session.prompt("echo one")
    async with session.fork(id="copy") as fork:
        assert fork.id == "copy" and fork.title == "First"
        assert fork.native_session_id not in (None, session.native_session_id)
        await fork.prompt("echo two")
        await session.prompt("echo three")
        texts = [[str(event) for event in await one.events()] for one in (session, fork)]
        assert all("one" in "".join(events) for events in texts)
        assert "two" in "".join(texts[1]) and "two" not in "".join(texts[0])
        assert "three" in "".join(texts[0]) and "three" not in "".join(texts[1])
        sequences = [event.sequence for event in await fork.events()]
        assert sequences == list(range(1, len(sequences) + 1))
        assert len(await client.acp.list()) == 1
    # The process goes on for the other one.
    assert (await session.prompt("echo four")).text == "four"
    again = await client.sessions.resume("copy")
    assert again.restored.history_carried
    assert (await again.prompt("echo five")).text == "five"


async def test_a_fork_that_is_not_possible_leaves_nothing(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("amp")
    with pytest.raises(UnsupportedSessionOptionError, match="fork"):
        await session.fork()
    able = await client.sessions.create("mock", id="taken")
    with pytest.raises(SessionAlreadyExistsError):
        await able.fork(id="taken")
    turn = able.start("hang")
    with pytest.raises(ConcurrentPromptError):
        async for _ in turn:
            await able.fork()
    await turn.cancel()
    assert len(await client.sessions.list()) == 2


def test_the_synchronous_face_forks_too() -> None:
    with SandboxAgent.start(asgi()) as client, client.sessions.create("mock") as session:
        assert session.fork().prompt("echo x").text == "x"
