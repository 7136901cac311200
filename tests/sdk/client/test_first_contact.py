"""First contact: what a new user types, and what is said about a mistake before anything is started."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest

import sandbox_agent
from sandbox_agent import (
    AsyncSandboxAgent,
    ClientClosedError,
    McpConfigError,
    NotFoundError,
    PermissionRequest,
    PostgresStore,
    SqliteStore,
    UnsupportedAgentError,
    asgi,
    resource,
    resource_link,
)
from sandbox_agent.sdk import api
from sandbox_agent.sdk.client.client_store import open_store
from sandbox_agent.sdk.default_address import DEFAULT_URL
from sandbox_agent.settings import Settings


@pytest.mark.clause("sdk-first-contact")
async def test_a_client_and_a_session_need_no_await_in_a_block(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    async with AsyncSandboxAgent.start(asgi(), default_directory=tmp_path) as other:
        async with other.sessions.create("mock") as session:
            assert (await session.prompt("echo x")).text == "x"
        async with other.sessions.resume(session.id) as again:
            assert again.id == session.id
    assert other.is_closed
    with pytest.raises(ClientClosedError):
        await other.agents.list()
    task = asyncio.create_task(client.sessions.create("mock"))
    assert (await task).agent == "mock"


@pytest.mark.clause("sdk-first-contact")
async def test_objects_describe_themselves(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", id="talk", title="A talk")
    turn = session.start("echo x")
    shown = repr(session)
    assert "'talk'" in shown and "'A talk'" in shown and "mock" in shown
    await turn.result()
    record = repr(session.record)
    assert session.id in record and "config_options" not in record and len(record) < 500
    assert "done" in repr(turn) and "1 open" in repr(client.sessions) and "sessions: 1" in repr(client)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", sandbox_agent.__version__)
    names: dict[str, Any] = {}
    exec("from sandbox_agent import *", names)  # noqa: S102 - what is tested
    assert names["SandboxAgent"] is sandbox_agent.SandboxAgent
    assert {"SandboxAgent", "__version__"} <= set(dir(sandbox_agent))


@pytest.mark.clause("sdk-first-contact")
def test_no_public_class_has_the_repr_of_object(tmp_path: Path) -> None:
    public = [getattr(sandbox_agent, name) for name in api.__all__]
    classes = [one for one in public if isinstance(one, type) and not getattr(one, "_is_protocol", False)]
    assert [one.__name__ for one in classes if one.__repr__ is object.__repr__] == []
    assert str(tmp_path / "x.db") in repr(open_store(tmp_path / "x.db"))
    assert "secret" not in repr(open_store("postgresql://ada:secret@db/x"))
    assert "0 sessions" in repr(open_store(None))


@pytest.mark.clause("sdk-first-contact")
async def test_directories_are_paths_too(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    session = await client.sessions.create("mock", directory=tmp_path)
    assert session.directory == str(tmp_path)


@pytest.mark.clause("sdk-first-contact")
@pytest.mark.parametrize("url", ["127.0.0.1:2468", "localhost:2468", "ftp://host", "http://", "server"])
async def test_an_address_in_the_wrong_form_is_named_at_once(url: str) -> None:
    began = time.monotonic()
    with pytest.raises(ValueError, match="http://"):
        await AsyncSandboxAgent.connect(url)
    assert time.monotonic() - began < 2


def test_a_client_without_an_address_uses_that_of_a_server_without_options() -> None:
    defaults = Settings()
    assert f"http://{defaults.host}:{defaults.port}" == DEFAULT_URL


@pytest.mark.clause("sdk-first-contact")
def test_a_store_is_a_store_a_path_or_a_url(tmp_path: Path) -> None:
    assert isinstance(open_store("postgresql://db/x"), PostgresStore)
    assert isinstance(open_store(tmp_path / "x.db"), SqliteStore)
    assert isinstance(open_store(str(tmp_path / "x.db")), SqliteStore)
    assert isinstance(open_store(r"C:\data\me@home.db"), SqliteStore)
    for wrong in ("mysql://db", "sqlite:///x.db", "sqlite:x.db", "host=db dbname=x", "", " "):
        with pytest.raises(ValueError, match=r"path|PostgresStore"):
            open_store(wrong)
    for wrong in ("postgresql:/db", " postgresql://db/x", "db:5432/x", "ada:secret@db/x"):
        with pytest.raises(ValueError, match="postgresql://") as refused:
            open_store(wrong)
        assert "secret" not in str(refused.value)
    with pytest.raises(TypeError, match="SessionStore"):
        open_store({})  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.clause("sdk-first-contact", "sdk-unknown-options")
async def test_wrong_arguments_are_named_before_a_server_is_started() -> None:
    with pytest.raises(TypeError, match=r'spawn={"token"'):
        AsyncSandboxAgent.start(token="x")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="connect"):
        AsyncSandboxAgent.start("http://127.0.0.1:1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="on_permision"):
        AsyncSandboxAgent.connect("http://127.0.0.1:1", on_permision=None)  # type: ignore[call-arg]


@pytest.mark.clause("sdk-first-contact")
@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        ("on_permission", 3, "a function"),
        ("timeout", "60", "a number"),
        ("max_retries", 1.5, "a whole number"),
        ("restore", "always", "'auto'"),
        ("headers", ["x: y"], "a mapping"),
        ("elicitation", "no", "True or False"),
    ],
)
def test_an_option_of_another_kind_is_named_before_a_server_is_started(
    option: str, value: Any, kind: str
) -> None:
    for call in (AsyncSandboxAgent.start, AsyncSandboxAgent.connect):
        with pytest.raises(TypeError, match=rf"^{option} is .*{kind}.*, not "):
            call(**{option: value})


@pytest.mark.clause("sdk-first-contact")
@pytest.mark.parametrize(
    ("option", "value", "kind"),
    [
        ("on_question", "Ada", "a function"),
        ("before_tool", [print], "a function"),
        ("permission_timeout", "60", "a number"),
        ("isolated", "no", "True or False"),
        ("title", 3, "a text"),
        ("id", 42, "a text"),
        ("directory", 3, "a text or a PathLike"),
    ],
)
async def test_an_option_of_a_session_of_another_kind_is_named(
    client: AsyncSandboxAgent, option: str, value: Any, kind: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{option} is {kind}, not "):
        await client.sessions.create("mock", **{option: value})
    with pytest.raises(TypeError, match=option):
        await client.sessions.resume("unknown", **{option: value})
    assert await client.sessions.list() == []


@pytest.mark.clause("sdk-first-contact")
async def test_wrong_values_leave_a_session_as_it_was(client: AsyncSandboxAgent) -> None:
    with pytest.raises(ValueError, match="id is empty"):
        await client.sessions.create("mock", id="")
    session = await client.sessions.create("mock")
    with pytest.raises(TypeError, match="'native'"):
        await client.sessions.resume(session.id, restore="load")  # type: ignore[arg-type]
    before = await session.raw_events()
    with pytest.raises(TypeError, match="timeout"):
        await session.prompt("x", timeout="60")  # type: ignore[arg-type]
    for attachments in (3, {"type": "text"}):
        with pytest.raises(TypeError, match="list of files"):
            await session.prompt("x", attachments=attachments)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="function"):
        session.on_event(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="offset"):
        await session.events(-1)
    with pytest.raises(ValueError, match="offset"):
        await client.sessions.raw_events(session.id, -1)
    assert await session.raw_events() == before


@pytest.mark.clause("sdk-first-contact")
async def test_wrong_uses_of_a_session_are_named(client: AsyncSandboxAgent) -> None:
    with pytest.raises(UnsupportedAgentError, match="mock") as unknown:
        await client.sessions.create("Mokc")
    assert "mock" in unknown.value.available
    session = await client.sessions.create("mock")
    for wrong in (None, 7, [None], [{"text": "no type"}]):
        with pytest.raises(TypeError, match="prompt"):
            await session.prompt(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of files"):
        await session.prompt("x", attachments="notes.txt")
    with pytest.raises(ValueError, match=r"item\.delta"):
        session.on("item.dleta")(lambda event: None)
    with pytest.raises(NotFoundError, match="missing"):
        await session.prompt("x", attachments=["missing.txt"])
    linked = await session.prompt("echo y", attachments=[resource_link("https://example.org/x")])
    assert resource_link(Path("/a b"))["uri"] == "file:///a%20b"
    assert resource(Path("/a"), "text")["resource"]["uri"] == "file:///a"
    assert linked.stop_reason == "end_turn"


@pytest.mark.clause("sdk-first-contact")
@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"type": "local"}, "command"),
        ({"type": "local", "command": "x", "args": "oops"}, "args"),
        ({"type": "locl", "command": "x"}, "type"),
        ({"type": "remote", "url": "host"}, "url"),
        ({"command": "x", "env": ["A=1"]}, "env"),
        ("npx server", "entry"),
    ],
)
async def test_a_mistake_in_an_mcp_entry_is_named(client: AsyncSandboxAgent, entry: Any, field: str) -> None:
    with pytest.raises(McpConfigError) as failure:
        await client.sessions.create("mock", mcp={"files": entry})
    assert (failure.value.server, failure.value.field) == ("files", field)
    with pytest.raises(TypeError, match="mcp is a mapping"):
        await client.sessions.create("mock", mcp=[entry])  # type: ignore[typeddict-item]


@pytest.mark.clause("sdk-paging")
async def test_lists_are_lists_and_complete_without_a_limit(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", id="a")
    for name in ("b", "c"):
        await client.sessions.create("mock", id=name)
    await session.prompt("stream 200 0")
    events = await session.events()
    assert len(events) > 200 and len(await session.raw_events()) > 200
    assert await session.events(offset=5, limit=3) == events[5:8]
    assert await client.sessions.events("a") == events
    assert [record.id for record in await client.sessions.list()] == ["a", "b", "c"]
    assert [record.id for record in await client.sessions.list(offset=1, limit=1)] == ["b"]
    with pytest.raises(ValueError, match="limit"):
        await session.events(limit=-1)


@pytest.mark.clause("sdk-first-contact")
async def test_a_permission_request_has_title_locations_and_input(client: AsyncSandboxAgent) -> None:
    asked: list[PermissionRequest] = []

    def look(request: PermissionRequest) -> str:
        asked.append(request)
        return "once"

    session = await client.sessions.create("mock", on_permission=look)
    await session.prompt("permission")
    (request,) = asked
    assert request.title and isinstance(request.locations, tuple)
    assert request.raw_input == request.tool_call.get("rawInput")
