"""Turns with an agent that speaks the draft of ACP v2: the same results and events as with v1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AgentExitedError,
    APITimeoutError,
    AsyncSandboxAgent,
    RpcError,
    asgi,
    auto_approve,
)
from sandbox_agent.sdk.universal import FileRefPart, ToolResultPart, UniversalMapper


@pytest.fixture
async def client_v2(client: AsyncSandboxAgent, tmp_path: Path) -> AsyncIterator[AsyncSandboxAgent]:
    """Like `client`, whose environment it shares, and offers version 2."""
    options = {"acp_version": 2, "on_permission": auto_approve, "default_directory": str(tmp_path / "work")}
    async with await AsyncSandboxAgent.start(asgi(), **options) as made:
        yield made


def shapes(events: list[Any]) -> list[tuple[str, Any]]:
    """What a reader sees: types and items, without ids, times and the facts about the session."""
    seen = []
    for event in events:
        item = getattr(event.data, "item", None)
        if event.type not in ("session.updated", "item.delta", "item.updated"):
            seen.append((event.type, None if item is None else (item.kind, item.role, item.status)))
    return seen


@pytest.mark.clause("acp-v2-sdk")
@pytest.mark.parametrize("prompt", ["hello there", "tool", "diff", "think", "markdown", "notice", "compact"])
async def test_a_turn_gives_the_same_events_and_text_in_both_versions(
    client: AsyncSandboxAgent, client_v2: AsyncSandboxAgent, prompt: str
) -> None:
    results = []
    for one in (client, client_v2):
        session = await one.sessions.create("mock")
        results.append(await session.prompt(prompt))
        assert not [event for event in results[-1].events if event.type == "agent.unparsed"]
        assert not [item for item in results[-1].items if item.kind == "unknown"]
    first, second = results
    assert (first.text, first.stop_reason) == (second.text, second.stop_reason)
    # A thought has an id in v2, so it stays open while the message comes.
    assert sorted(shapes(first.events), key=repr) == sorted(shapes(second.events), key=repr)
    assert second.raw["state"] == "idle"


@pytest.mark.clause("acp-v2-sdk")
@pytest.mark.parametrize(
    ("prompt", "labels"),
    [
        ("notice", ["notice"] * 3),
        ("compact", ["compaction_update"] * 2),
        ("compact fail", ["compaction_update"] * 2),
    ],
)
async def test_notices_and_compactions_are_asked_for_and_are_items_in_both_versions(
    client: AsyncSandboxAgent, client_v2: AsyncSandboxAgent, prompt: str, labels: list[str]
) -> None:
    for one in (client, client_v2):
        session = await one.sessions.create("mock")
        items = (await session.prompt(prompt)).items
        assert [item.content[0].label for item in items if item.kind == "status"] == labels  # type: ignore[union-attr]


@pytest.mark.clause("acp-v2-sdk")
async def test_replaced_messages_terminals_and_diffs_are_items(client_v2: AsyncSandboxAgent) -> None:
    session = await client_v2.sessions.create("mock")
    result = await session.prompt("upsert")
    assert result.text == "The final text."
    results = {item.kind: item for item in (await session.prompt("terminal")).items}
    part = results["tool_result"].content[0]
    assert isinstance(part, ToolResultPart) and part.output == "hello\n"
    files = [part for item in (await session.prompt("diff")).items for part in item.content]
    changed = [part for part in files if isinstance(part, FileRefPart)]
    assert [part.action for part in changed] == ["patch", "write"]
    assert changed[0].diff is not None and '+print("hello")' in changed[0].diff


@pytest.mark.clause("acp-v2-sdk")
async def test_permissions_options_and_failures_work_in_v2(client_v2: AsyncSandboxAgent) -> None:
    session = await client_v2.sessions.create("mock", mode="plan", model="mock-fast")
    assert '"mode": "plan"' in (await session.prompt("info")).text
    result = await session.prompt("permission")
    assert "selected allow-once" in result.text
    assert [event.data.status for event in result.events if event.type == "permission.resolved"] == ["accept"]
    with pytest.raises(RpcError):
        await session.prompt("fail -32000")
    with pytest.raises(APITimeoutError):
        await session.prompt("hang", timeout=0.3)
    assert (await session.prompt("echo still here")).text == "still here"


@pytest.mark.clause("acp-v2-sdk")
async def test_a_turn_is_cancelled_and_an_exit_ends_it_in_v2(client_v2: AsyncSandboxAgent) -> None:
    session = await client_v2.sessions.create("mock")
    async with session.stream("hang") as turn:
        async for event in turn:
            if event.type == "session.updated":
                break
        await turn.cancel()
        assert (await turn.result()).stop_reason == "cancelled"
    with pytest.raises(AgentExitedError):
        await asyncio.wait_for(session.prompt("crash 3"), 30)
    assert (await session.prompt("echo back again")).text.endswith("back again")


@pytest.mark.clause("acp-v2-sdk")
async def test_stored_messages_of_v2_give_the_live_events(client_v2: AsyncSandboxAgent) -> None:
    session = await client_v2.sessions.create("mock")
    for prompt in ("demo tool", "upsert", "terminal"):
        await session.prompt(prompt)
    mapper = UniversalMapper(session.id, agent="mock")
    stored = await client_v2.store.list_events(session.id)
    derived = [event for record in stored.items for event in mapper.feed(record.payload, record.sender)]
    assert not mapper.open_turn_ids and not [one for one in derived if one.type == "agent.unparsed"]


@pytest.mark.clause("acp-v2-negotiated")
async def test_an_agent_of_v1_is_used_with_v1(client_v2: AsyncSandboxAgent) -> None:
    session = await client_v2.sessions.create("amp")
    assert (await session.prompt("hello")).stop_reason == "end_turn"
