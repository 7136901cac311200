"""Code that was written for the TypeScript SDK, carried over line by line, against a running server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_agent import (
    APIConnectionError,
    AsyncSandboxAgent,
    AsyncSession,
    MemoryPersist,
    PermissionNotFoundError,
    PermissionRequest,
    SandboxAgent,
    Session,
    SessionEvent,
    SessionNotFoundError,
)
from sandbox_agent.sdk.transport.run_once import RunOnce
from tests.sdk.conftest import Connect, eventually
from tests.sdk.live_server import LiveServer

ONCE = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_a_session_has_the_members_of_the_typescript_session(connect: Connect) -> None:
    client = await connect()
    session = await client.create_session("mock")
    record = session.to_record()
    assert record == replace(await client.get_session(session.id), last_event_id=None)
    assert session.agent_session_id == session.native_session_id == record.agent_session_id
    assert session.last_connection_id == (await client.list_acp_servers())[0].server_id
    assert session.created_at == record.created_at > 0 and session.destroyed_at is None
    assert "model" in {option.id for option in await session.get_config_options()}
    assert "plan" in await session.get_modes()
    assert await session.raw_send("session/set_mode", {"modeId": "plan"}) is not None
    assert await session.raw_send("session/cancel", notification=True) is None
    await client.raw_send_session_method(session.id, "session/cancel", {}, notification=True)
    sent = [message.get("method") for message in await session.raw_events()]
    assert sent.count("session/cancel") == 2
    await client.destroy_session(session.id)
    assert session.destroyed_at is not None and session.destroyed_at >= session.created_at


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_a_refreshed_session_shows_what_another_client_changed(connect: Connect) -> None:
    store = MemoryPersist()
    client, other = await connect(persist=store), await connect(persist=store)
    session = await client.create_session("mock", title="before")
    await store.patch_session(session.id, title="after", agent_session_id="elsewhere")
    assert session.title == "before"
    assert await session.refresh() is session and session.title == "after"
    assert (await session.prompt("echo still mine")).text == "still mine"
    await other.destroy_session(session.id)
    assert (await session.refresh()).destroyed_at is not None
    await store.delete_session(session.id)
    with pytest.raises(SessionNotFoundError):
        await session.refresh()


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_stored_messages_are_session_events(connect: Connect) -> None:
    client = await connect()
    session = await client.create_session("mock")
    await session.prompt("echo x")
    events = (await client.store.list_events(session.id)).items
    assert all(isinstance(event, SessionEvent) for event in events)
    assert (events[0].event_index, events[0].sender) == (1, "client")


@pytest.mark.clause("sdk-A.8-permission-listeners")
async def test_a_permission_listener_is_told_everything_and_answers(connect: Connect) -> None:
    session = await (await connect()).create_session("mock")
    asked: list[PermissionRequest] = []

    async def allow(request: PermissionRequest) -> None:
        asked.append(request)
        await session.respond_permission(request.id, "once")

    stop = session.on_permission_request(allow)
    assert "allow_once" in (await session.prompt("permission")).text
    [request] = asked
    assert request.session_id == session.id and request.agent_session_id == session.agent_session_id
    assert request.raw_request["toolCall"] == request.tool_call
    assert session.created_at <= request.created_at
    assert request.available_replies == ("once", "always", "reject")
    stop()
    assert "cancelled" in (await session.prompt("permission")).text, "nobody is there to answer any more"
    assert len(asked) == 1


@pytest.mark.clause("sdk-A.8-permission-listeners")
async def test_a_permission_listener_that_fails_allows_nothing(connect: Connect) -> None:
    session = await (await connect()).create_session("mock")

    def broken(request: PermissionRequest) -> None:
        raise LookupError("no idea")

    session.on_permission_request(broken)
    assert "cancelled" in (await session.prompt("permission")).text


@pytest.mark.clause("sdk-A.8-permission-listeners")
async def test_a_permission_is_answered_with_a_response_of_acp(connect: Connect) -> None:
    session = await (await connect()).create_session("mock")
    session.on_permission_request(lambda request: session.raw_respond_permission(request.id, ONCE))
    assert "selected allow-once" in (await session.prompt("permission")).text
    with pytest.raises(PermissionNotFoundError):
        await session.raw_respond_permission("perm_1", ONCE)


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_the_client_answers_the_permissions_of_the_session_that_is_named(connect: Connect) -> None:
    client = await connect()
    sessions = [await client.create_session("mock", id=name) for name in ("first", "second")]
    open_ids: dict[str, str] = {}
    for session in sessions:
        await client.on_permission_request(
            session.id, lambda request: open_ids.update({request.session_id: request.id})
        )
    turns = [asyncio.create_task(session.prompt("permission")) for session in sessions]
    await eventually(lambda: len(open_ids) == 2)
    await client.respond_permission("second", open_ids["second"], "reject")
    assert "reject_once" in (await turns[1]).text
    await client.raw_respond_permission("first", open_ids["first"], ONCE)
    assert "selected allow-once" in (await turns[0]).text


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_a_session_takes_the_parameters_of_session_new(connect: Connect, tmp_path: Path) -> None:
    servers = [{"name": "files", "command": "files-mcp", "args": [], "env": []}]
    client = await connect()
    session = await client.create_session(
        "mock", session_init={"cwd": str(tmp_path), "mcpServers": servers}, cwd="/ignored"
    )
    assert session.directory == str(tmp_path)
    init = session.to_record().session_init
    assert init is not None and init["mcpServers"] == servers and init["cwd"] == str(tmp_path)
    assert (await client.install_agent("mock", agent_version=None)).already_installed


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_the_first_request_of_a_new_client_waits_for_the_server(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "server")
    async with AsyncSandboxAgent(server.url, server.token) as hasty:
        with pytest.raises(APIConnectionError):
            await hasty.list_agents()
    client = AsyncSandboxAgent(server.url, server.token, wait_for_health=60)
    waiting = [asyncio.create_task(client.list_agents()) for _ in range(2)]
    try:
        await server.start()
        assert all("mock" in {agent.id for agent in agents} for agents in await asyncio.gather(*waiting))
        assert client.sandbox is None
    finally:
        await client.close()
        await server.stop()


async def test_those_who_wait_for_one_thing_fail_together_and_the_next_tries_again() -> None:
    tries: list[asyncio.Event] = []

    async def work() -> None:
        tries.append(asyncio.Event())
        await tries[-1].wait()
        if len(tries) == 1:
            raise LookupError("not yet")

    gate = RunOnce(work)
    waiting = [asyncio.create_task(gate.passed()) for _ in range(3)]
    await eventually(lambda: len(tries) == 1)
    tries[0].set()
    assert {str(one) for one in await asyncio.gather(*waiting, return_exceptions=True)} == {"not yet"}
    again = asyncio.create_task(gate.passed())
    await eventually(lambda: len(tries) == 2)
    tries[1].set()
    await again
    await gate.passed()
    assert len(tries) == 2


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_the_names_work_without_a_loop_too(own_server: LiveServer) -> None:
    await asyncio.to_thread(_port_without_await, own_server)


def _port_without_await(server: LiveServer) -> None:
    client = SandboxAgent(server.url, server.token, default_directory=str(server.work), wait_for_health=30)
    session = client.create_session("mock", title="before")
    record = session.to_record()
    assert record == replace(client.get_session(session.id), last_event_id=None)
    assert client.sandbox is None
    assert session.agent_session_id == record.agent_session_id
    assert session.last_connection_id == record.last_connection_id
    assert (session.created_at, session.destroyed_at) == (record.created_at, None)
    assert "model" in {option.id for option in session.get_config_options()}
    assert "plan" in session.get_modes()
    assert session.raw_send("session/set_mode", {"modeId": "plan"}) is not None
    assert client.raw_send_session_method(session.id, "session/cancel", notification=True) is None
    assert session.refresh() is session
    stop = session.on_permission_request(lambda request: session.respond_permission(request.id, "once"))
    assert "allow_once" in session.prompt("permission").text
    stop()
    stop = client.on_permission_request(
        session.id, lambda request: client.respond_permission(session.id, request.id, "reject")
    )
    assert "reject_once" in session.prompt("permission").text
    stop()
    session.on_permission_request(lambda request: session.raw_respond_permission(request.id, ONCE))
    assert "selected allow-once" in session.prompt("permission").text
    with pytest.raises(PermissionNotFoundError):
        client.raw_respond_permission(session.id, "perm_1", ONCE)
    assert client.install_agent("mock", agent_process_version=None).already_installed
    client.destroy_session(session.id)
    assert session.destroyed_at is not None
    client.aclose()


@pytest.mark.clause("sdk-B.2-flat-aliases")
@pytest.mark.parametrize("face", [AsyncSandboxAgent, SandboxAgent, AsyncSession, Session])
def test_every_face_closes_by_either_name(face: type[object]) -> None:
    assert getattr(face, "close") is getattr(face, "aclose")  # noqa: B009 - the attribute is the test
