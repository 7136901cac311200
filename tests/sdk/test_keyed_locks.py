"""`KeyedLocks`: exclusive per key, and nothing is left of a key that is not in use."""

from __future__ import annotations

import asyncio

import pytest

from sandbox_agent import AsyncSandboxAgent, SessionNotFoundError
from sandbox_agent.sdk.keyed_locks import KeyedLocks


async def test_one_task_holds_a_key_at_a_time_and_the_lock_goes_with_its_last_user() -> None:
    locks, inside, most = KeyedLocks(), 0, 0

    async def work(key: str) -> None:
        nonlocal inside, most
        async with locks.hold(key):
            inside += key == "same"
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= key == "same"

    await asyncio.gather(*(work("same") for _ in range(5)), *(work(f"key {n}") for n in range(5)))
    assert most == 1 and len(locks) == 0


async def test_a_waiter_that_is_cancelled_leaves_no_lock() -> None:
    locks = KeyedLocks()

    async def wait() -> None:
        async with locks.hold("key"):
            raise AssertionError("the key is held")

    async with locks.hold("key"):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert len(locks) == 1
    assert len(locks) == 0


async def test_a_client_keeps_no_lock_of_sessions_it_created_or_resumed(client: AsyncSandboxAgent) -> None:
    for number in range(3):
        session = await client.sessions.create("mock", id=f"s{number}", isolated=True)
        await session.aclose()
        await (await client.sessions.resume(session.id)).terminate()
    with pytest.raises(SessionNotFoundError):
        await client.sessions.resume("no such session")
    assert len(client.sessions._locks) == 0 and len(client._pool._locks) == 0
