"""What a session asks of its agent as a whole: delete it, log out, cancel a request."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AsyncSandboxAgent,
    AuthRequiredError,
    SandboxAgent,
    SessionEndedError,
    UnsupportedSessionOptionError,
    asgi,
)
from sandbox_agent.jsonrpc_error_codes import REQUEST_CANCELLED
from tests.support.polling import eventually

pytestmark = pytest.mark.clause("sdk-session-in-agent")

WAITING_AGENT = Path(__file__).parents[1] / "waiting_agent.py"


def updated(events: list[Any]) -> list[tuple[str, str | None]]:
    found = [event.data for event in events if event.type == "session.updated"]
    return [
        (data.label, data.detail)
        for data in found
        if data.label in ("session_delete", "logout", "cancel_request")
    ]


async def listed(client: AsyncSandboxAgent) -> set[str]:
    """The sessions that the agent itself has stored."""
    async with await client.acp.connect("mock") as acp:
        return {one["sessionId"] for one in (await acp.request("session/list"))["sessions"]}


async def test_delete_removes_the_session_in_the_agent_and_keeps_the_history(
    client: AsyncSandboxAgent,
) -> None:
    session = await client.sessions.create("mock", id="gone")
    await session.prompt("echo remember")
    native_id = session.native_session_id
    assert native_id in await listed(client)
    await session.delete()
    assert native_id not in await listed(client)
    events = await client.sessions.events("gone")
    assert updated(events) == [("session_delete", native_id)]
    assert [event.type for event in events][-2:] == ["session.updated", "session.ended"]
    assert "agent.unparsed" not in {event.type for event in events}
    assert await client.acp.list() == []
    with pytest.raises(SessionEndedError):
        await session.prompt("echo more")
    again = await client.sessions.resume("gone")
    assert again.restored.method == "replayed"


async def test_delete_stops_a_running_turn(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    turn = session.start("hang")
    async for event in turn:
        if event.type == "turn.started":
            break
    await session.delete()
    assert (await turn.result()).stop_reason == "cancelled"


async def test_an_agent_that_cannot_says_so_and_the_session_goes_on(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("amp")
    with pytest.raises(UnsupportedSessionOptionError, match="session/delete"):
        await session.delete()
    with pytest.raises(UnsupportedSessionOptionError, match="logout"):
        await session.logout()
    assert not session.info.ended


@pytest.mark.parametrize(("version", "login"), [(1, "authenticate"), (2, "auth/login")])
async def test_after_a_logout_the_agent_wants_a_login(
    client: AsyncSandboxAgent, tmp_path: Path, version: int, login: str
) -> None:
    options: dict[str, Any] = {"acp_version": version, "default_directory": str(tmp_path / "work")}
    async with await AsyncSandboxAgent.start(asgi(), **options) as one:
        session = await one.sessions.create("mock")
        await session.logout()
        assert updated(await session.events()) == [("logout", None)]
        with pytest.raises(AuthRequiredError):
            await session.prompt("echo refused")
        await session.request(login, {"methodId": "mock-login"})
        assert (await session.prompt("echo back")).text == "back"


async def test_a_request_without_a_waiter_is_cancelled_in_the_agent() -> None:
    agents = {"waiting": [sys.executable, str(WAITING_AGENT)]}
    async with await AsyncSandboxAgent.start(agents=agents) as client:
        session = await client.sessions.create("waiting", directory="/")
        waiting = asyncio.create_task(session.request("vendor/wait"))
        async with asyncio.timeout(20):
            async for message in session.follow_raw():
                if message.get("method") == "session/update":
                    break
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()

        async def is_answered() -> bool:
            return "Request cancelled" in str(await session.raw_events())

        await eventually(is_answered)
        assert updated(await session.events()) == [("cancel_request", "vendor/wait")]


async def test_plain_acp_cancels_a_request_too(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    async with await client.acp.connect("mock", directory=str(tmp_path)) as acp:
        session = (await acp.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "permission"}]}
        turn = asyncio.create_task(acp.request("session/prompt", prompt))
        async with asyncio.timeout(20):
            async for message in acp.messages():
                if message.get("method") == "session/request_permission":
                    turn.cancel()
                if "error" in message:
                    assert message["error"]["code"] == REQUEST_CANCELLED
                    break
        await asyncio.wait([turn])
        assert turn.cancelled()


def test_the_synchronous_face_has_both() -> None:
    with SandboxAgent.start(asgi()) as client:
        session = client.sessions.create("mock")
        session.logout()
        session.request("authenticate", {"methodId": "mock-login"})
        session.delete()
        assert session.info.ended
