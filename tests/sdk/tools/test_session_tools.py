"""Functions of this program as tools of an agent: mock agent, real server, real relay command."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import pytest

from sandbox_agent import AgentExitedError, AsyncSandboxAgent, SandboxAgent, ToolsUnavailableError, tool
from sandbox_agent.sdk.tools.tool import as_tools
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer

pytestmark = pytest.mark.clause("sdk-tools")


@dataclass
class Point:
    x: int
    y: int = 0


@tool
def distance(a: Point, b: Point, unit: Annotated[str, msgspec.Meta(description="m or km")] = "m") -> str:
    """The distance between two points."""
    return (
        f"{abs(a.x - b.x) + abs(a.y - b.y)} {unit} by {threading.current_thread() is threading.main_thread()}"
    )


@tool(name="look-up", description="Look something up")
async def look_up(key: str) -> dict[str, Any]:
    await asyncio.sleep(0)
    if key == "bad":
        raise LookupError("no such key")
    return {"key": key, "found": [1, 2]}


def test_the_schema_comes_from_the_annotations() -> None:
    assert distance.name == "distance" and distance.description == "The distance between two points."
    assert distance.schema["type"] == "object" and distance.schema["required"] == ["a", "b"]
    assert distance.schema["properties"]["unit"]["description"] == "m or km"
    assert "Point" in distance.schema["$defs"]
    assert look_up.name == "look-up"
    # It is still a function.
    assert distance(Point(1), Point(3)).startswith("2 m")


@pytest.mark.parametrize("wrong", ["text", [1], [look_up, look_up], [lambda *names: None]])
def test_what_is_no_list_of_tools_is_named(wrong: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="tool"):
        as_tools(wrong)


async def test_the_agent_calls_functions_of_this_program(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", tools=[distance, look_up])
    assert (await session.prompt("mcp")).text == "My tools: distance, look-up"
    result = await session.prompt('mcp distance {"a": {"x": 1}, "b": {"x": 4, "y": 2}}')
    assert result.text == "The tool said: 5 m by False"  # a plain function runs in a thread
    assert result.tool_calls[0].output == "5 m by False"
    result = await session.prompt('mcp look-up {"key": "k"}')
    assert '{"key":"k","found":[1,2]}' in result.text
    result = await session.prompt('mcp look-up {"key": "bad"}')
    assert "The tool failed" in result.text and "no such key" in result.text
    result = await session.prompt('mcp distance {"a": 5}')
    assert "The tool failed" in result.text


async def test_tools_belong_to_one_session(connect: Connect) -> None:
    client = await connect()
    first = await client.sessions.create("mock", tools=[look_up])
    second = await client.sessions.create("mock")
    third = await client.sessions.create("mock", tools=[distance])
    texts = [(await one.prompt("mcp")).text for one in (first, second, third)]
    assert texts == ["My tools: look-up", "My tools: ", "My tools: distance"]


async def test_a_closed_client_is_an_error_of_the_tool_and_no_hang(connect: Connect) -> None:
    started = asyncio.Event()

    @tool
    async def never() -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    owner, other = await connect(keep_running=True), await connect()
    session = await owner.sessions.create("mock", tools=[never])
    turn = session.start("mcp never")
    await asyncio.wait_for(started.wait(), 20)
    server_id = session.info.server_id
    assert server_id is not None
    async with asyncio.timeout(20):
        reader = asyncio.create_task(_until_said(other, server_id, "The tool failed"))
        await session.aclose(keep_running=True)
        assert "closed these tools" in await reader
    del turn


async def test_tools_are_there_again_after_the_agent_was_restored(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", tools=[look_up])
    with pytest.raises(AgentExitedError):
        await session.prompt("crash")
    assert (await session.prompt("mcp")).text == "My tools: look-up"
    await session.aclose()
    again = await client.sessions.resume(session.id, tools=[distance])
    assert (await again.prompt("mcp")).text == "My tools: distance"


async def test_a_client_that_reattaches_answers_the_calls(connect: Connect, tmp_path: Any) -> None:
    first = await connect(store=tmp_path / "s.db", keep_running=True)
    session = await first.sessions.create("mock", tools=[look_up])
    # The program ends without a word: only its reader is gone.
    relay = session._channel.tools._relay
    assert relay is not None and relay._reader is not None
    relay._reader.cancel()
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume(session.id, tools=[look_up])
    assert again.restored.method == "reattached"
    assert "found" in (await again.prompt('mcp look-up {"key": "k"}')).text


async def test_the_ticket_opens_nothing_else(connect: Connect, own_server: LiveServer) -> None:
    client = await connect()
    session = await client.sessions.create("mock", tools=[look_up])
    entry = session._channel.tools._entry
    assert entry is not None
    values = {one["name"]: one["value"] for one in entry["env"]}
    ticket = values["SANDBOX_AGENT_RELAY_TICKET"]
    assert own_server.token not in str(entry)
    # The history says that there were tools; the ticket would let its readers call them.
    stored = str(await session.raw_events())
    assert "SANDBOX_AGENT_RELAY_URL" in stored and ticket not in stored
    stranger = await AsyncSandboxAgent.connect(own_server.url, ticket, wait_for_health=False)
    async with stranger:
        for path in ("/v1/acp", "/v1/tool-relays/x/calls", "/v1/fs/entries"):
            method = "POST" if "calls" in path else "GET"
            with stranger._api._clients.use() as http:
                response = await http.request(method, own_server.url + path, headers=stranger._api.headers)
            assert response.status_code == 401
        path = values["SANDBOX_AGENT_RELAY_URL"].removeprefix(own_server.url)
        request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        answer = await stranger._api.request("POST", path, json=request)
        assert answer.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


async def test_a_server_without_relays_or_address_is_named(client: AsyncSandboxAgent, tmp_path: Any) -> None:
    with pytest.raises(ToolsUnavailableError):
        await client.sessions.create("mock", tools=[look_up])
    server = await LiveServer(tmp_path / "off", "--tool-relays", "off").start()
    try:
        async with AsyncSandboxAgent.connect(server.url, server.token) as other:
            with pytest.raises(ToolsUnavailableError, match="tool-relays off"):
                await other.sessions.create("mock", directory=server.work, tools=[look_up])
            assert not [one for one in await other.acp.list() if one.status == "running"]
    finally:
        await server.stop()


@pytest.fixture
def sync_client(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxAgent]:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    with SandboxAgent.start(default_directory=tmp_path) as made:
        yield made


def test_the_synchronous_face_has_tools_too(sync_client: SandboxAgent) -> None:
    def shout(text: str) -> str:
        return text.upper()

    session = sync_client.sessions.create("mock", tools=[shout])
    assert session.prompt('mcp shout {"text": "hi"}').text == "The tool said: HI"


async def _until_said(client: AsyncSandboxAgent, server_id: str, wanted: str) -> str:
    observer = await client.acp.get(server_id)
    assert observer is not None
    seen = ""
    while wanted not in seen:
        async with client._api.open("GET", f"/v1/acp/{server_id}") as response:
            async for chunk in response.aiter_text():
                seen += chunk
                if wanted in seen:
                    break
    return seen
