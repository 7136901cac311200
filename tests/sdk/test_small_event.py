"""`SmallEvent` behaves as `asyncio.Event` does."""

from __future__ import annotations

import asyncio

import pytest

from sandbox_agent.sdk.small_event import SmallEvent


@pytest.mark.parametrize("make", [SmallEvent, asyncio.Event])
async def test_waiters_are_woken_and_cancelled_ones_forgotten(make: type[SmallEvent]) -> None:
    event = make()
    waiting = [asyncio.create_task(event.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    event.set()
    event.clear()
    await asyncio.wait_for(asyncio.gather(*waiting[1:]), 5)
    assert waiting[0].cancelled() or not waiting[0].done()
    again = asyncio.create_task(event.wait())
    await asyncio.sleep(0)
    assert not again.done()
    event.set()
    await asyncio.wait_for(again, 5)
    await asyncio.wait_for(event.wait(), 5)
