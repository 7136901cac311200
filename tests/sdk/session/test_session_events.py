"""Events of a session: as ACP messages, by callback, and through the mapper."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.sdk.universal import UniversalMapper


@pytest.mark.clause("sdk-raw-and-decorator")
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
    raw = await session.raw_events()
    assert raw[0]["method"] == "session/new"
    followed = [message async for message in _first(session.follow_raw(2), len(raw) - 2)]
    assert followed == raw[2:]


async def _first(source: Any, number: int) -> Any:
    async for item in source:
        yield item
        number -= 1
        if number == 0:
            await source.aclose()
            return


async def test_event_callbacks_run_where_the_client_runs_its_callbacks(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    threads: list[bool] = []
    seen = asyncio.Event()
    loop = asyncio.get_running_loop()

    def note(event: Any) -> None:
        try:
            threads.append(asyncio.get_running_loop() is not loop)
        except RuntimeError:
            threads.append(True)
        loop.call_soon_threadsafe(seen.set)

    for in_threads in (False, True):
        session.handlers.sync_in_threads = in_threads
        seen.clear()
        stop = session.on_event(note, type="turn.ended")
        await session.prompt("echo x")
        await asyncio.wait_for(seen.wait(), 10)
        stop()
    assert threads == [False, True]


def test_the_mapper_is_used_as_the_specification_writes_it() -> None:
    prompt = {"jsonrpc": "2.0", "id": 1, "method": "session/prompt", "params": {"prompt": []}}
    events = UniversalMapper().feed(prompt, "client", "2026-01-01T00:00:00Z")
    assert [event.type for event in events] == ["turn.started"]
    assert events[0].time == "2026-01-01T00:00:00Z"
