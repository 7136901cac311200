"""The names people know from the specification and from the reference's SDK."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import sandbox_agent
from sandbox_agent import AsyncSandboxAgent, MemoryStore, NotFoundError, SqliteStore, build_inspector_url
from sandbox_agent.sdk.universal import UniversalMapper
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer


@pytest.mark.clause("sdk-B.3-unknown-options")
async def test_a_session_option_that_does_not_exist_is_refused_by_name(client: AsyncSandboxAgent) -> None:
    with pytest.raises(TypeError, match=r"no option modle; it has .*model"):
        await client.sessions.create("mock", modle="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="two names of one option"):
        await client.sessions.create("mock", cwd="/a", directory="/b")
    session = await client.sessions.create("mock", cwd="/", agent_mode="plan")
    assert session.directory == "/" and session.info.agent_mode == "plan"
    with pytest.raises(TypeError, match="title"):
        await client.sessions.resume(session.id, title="x")  # type: ignore[call-arg]


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_the_flat_names_reach_open_and_stored_sessions(client: AsyncSandboxAgent) -> None:
    session = await client.create_session("mock", id="flat")
    seen: list[str] = []
    stop = await client.on_session_event("flat", lambda event: seen.append(event.type))
    await client.set_session_mode("flat", "plan")
    await client.set_session_model("flat", "mock-fast")
    await client.set_session_thought_level("flat", "high")
    await client.set_session_config_option("flat", "model", "mock")
    info = session.info
    assert (info.agent_mode, info.model, info.thought_level) == ("plan", "mock", "high")
    assert "plan" in await client.get_session_modes("flat")
    assert "model" in {option.id for option in await client.get_session_config_options("flat")}
    await client.raw_send_session_method("flat", "session/set_mode", {"modeId": "normal"})
    assert (await client.get_health())["status"] == "ok"
    assert [record.id for record in (await client.list_sessions(limit=1)).items] == ["flat"]
    assert (await client.get_events("flat"))[0].type == "session.started"
    stop()


@pytest.mark.clause("sdk-B.5-raw-and-decorator")
async def test_events_can_be_had_raw_and_by_decorator(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    pieces: list[str] = []
    told = asyncio.Event()

    @session.on("item.delta")
    def take(event: Any) -> None:
        pieces.append(event.data.delta)
        told.set()

    await session.prompt("echo hello")
    await asyncio.wait_for(told.wait(), 10)
    assert pieces == ["hello"]
    raw = await session.events(raw=True)
    assert raw == await session.raw_events() and raw[0]["method"] == "session/new"
    followed = [message async for message in _first(session.follow(2, raw=True), len(raw) - 2)]
    assert followed == raw[2:]


async def _first(source: Any, number: int) -> Any:
    async for item in source:
        yield item
        number -= 1
        if number == 0:
            await source.aclose()
            return


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_the_store_is_also_called_persist(tmp_path: Path) -> None:
    client = AsyncSandboxAgent("http://127.0.0.1:9", persist=tmp_path / "s.db")
    assert isinstance(client.store, SqliteStore)
    await client.aclose()
    assert sandbox_agent.SQLitePersist is SqliteStore and sandbox_agent.MemoryPersist is MemoryStore
    assert isinstance(MemoryStore(), sandbox_agent.PersistDriver)


@pytest.mark.clause("sdk-B.2-flat-aliases")
async def test_spawn_false_connects_to_the_server_that_runs(
    own_server: LiveServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_AGENT_URL", own_server.url)
    monkeypatch.setenv("SANDBOX_AGENT_TOKEN", own_server.token)
    async with await AsyncSandboxAgent.start(spawn=False) as client:
        assert client.base_url == own_server.url and client.provider is None
        with pytest.raises(NotFoundError) as failure:
            await client.fs.read("/no/such/file")
        assert failure.value.response.status_code == 404


@pytest.mark.clause("sdk-B.2-flat-aliases")
def test_the_inspector_address_carries_what_the_page_reads() -> None:
    assert build_inspector_url("http://h:1/", "a b") == "http://h:1/ui/?token=a%20b"
    assert build_inspector_url("http://h", None, None, "s/1") == "http://h/ui/sessions/s%2F1"
    headed = build_inspector_url("http://h", "t", {"X-A": "1"})
    assert headed == "http://h/ui/?token=t&headers=%7B%22X-A%22%3A%221%22%7D"


@pytest.mark.clause("sdk-B.2-flat-aliases")
def test_the_mapper_is_used_as_the_specification_writes_it() -> None:
    prompt = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"prompt": []}}
    events = UniversalMapper().feed(prompt, "client", "2026-01-01T00:00:00Z")
    assert [event.type for event in events] == ["turn.started"]
    assert events[0].time == "2026-01-01T00:00:00Z"
