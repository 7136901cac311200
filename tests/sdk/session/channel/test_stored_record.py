"""The record of a session: what the store has, and what another client changed in it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_agent import EventRecord, MemoryStore, SessionNotFoundError
from tests.sdk.conftest import Connect


async def test_a_session_has_its_record(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    record = session.record
    assert record == replace(await client.sessions.get(session.id), last_event_id=None)
    assert session.native_session_id == record.agent_session_id
    assert record.last_connection_id == (await client.acp.list())[0].server_id
    assert record.created_at > 0 and record.destroyed_at is None
    assert await session.request("session/set_mode", {"modeId": "plan"}) is not None
    await session.notify("session/cancel")
    await session.notify("session/cancel", {})
    sent = [message.get("method") for message in await session.raw_events()]
    assert sent.count("session/cancel") == 2
    await client.sessions.terminate(session.id)
    assert session.record.destroyed_at is not None and session.record.destroyed_at >= record.created_at


async def test_a_refreshed_session_shows_what_another_client_changed(connect: Connect) -> None:
    store = MemoryStore()
    client, other = await connect(store=store), await connect(store=store)
    session = await client.sessions.create("mock", title="before")
    await store.patch_session(session.id, title="after", agent_session_id="elsewhere")
    assert session.title == "before"
    assert await session.refresh() is session and session.title == "after"
    assert (await session.prompt("echo still mine")).text == "still mine"
    await other.sessions.terminate(session.id)
    assert (await session.refresh()).record.destroyed_at is not None
    await store.delete_session(session.id)
    with pytest.raises(SessionNotFoundError):
        await session.refresh()


async def test_stored_messages_are_event_records(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    await session.prompt("echo x")
    events = (await client.store.list_events(session.id)).items
    assert all(isinstance(event, EventRecord) for event in events)
    assert (events[0].event_index, events[0].sender) == (1, "client")


async def test_a_session_takes_the_parameters_of_session_new(connect: Connect, tmp_path: Path) -> None:
    servers = [{"name": "files", "command": "files-mcp", "args": [], "env": []}]
    client = await connect()
    session = await client.sessions.create(
        "mock", session_init={"cwd": str(tmp_path), "mcpServers": servers}, directory="/ignored"
    )
    assert session.directory == str(tmp_path)
    init = session.record.session_init
    assert init is not None and init["mcpServers"] == servers and init["cwd"] == str(tmp_path)
