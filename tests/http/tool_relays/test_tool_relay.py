"""A relay: calls wait for their client, and never for one that is gone."""

from __future__ import annotations

import asyncio

import pytest

from sandbox_agent.errors import NotFound, StreamError
from sandbox_agent.http.tool_relays.tool_relay import MAX_WAITING_BYTES, ToolRelay

pytestmark = pytest.mark.clause("sdk-tools")


async def test_a_call_gets_the_answer_of_its_client() -> None:
    relay = ToolRelay("r", "s", "t")
    reader = relay.open_reader(0)
    first, second = (asyncio.create_task(relay.call(body)) for body in (b"one", b"two"))
    await asyncio.sleep(0)
    await reader.next_calls()
    while len(calls := relay.after(0)) < 2:  # noqa: ASYNC110 - the calls start by themselves
        await asyncio.sleep(0)
    assert calls == [(1, b"one"), (2, b"two")]
    relay.answer(2, b"B")
    relay.answer(1, b"A")
    assert (await first, await second) == (b"A", b"B")
    with pytest.raises(NotFound):
        relay.answer(1, b"again")
    relay.close()


async def test_a_call_without_a_client_fails_after_the_patience() -> None:
    relay = ToolRelay("r", "s", "t", disconnect_limit_s=0.05)
    async with asyncio.timeout(5):
        with pytest.raises(StreamError):
            await relay.call(b"x")
    # The client is known to be gone: no second wait.
    with pytest.raises(StreamError):
        await relay.call(b"y")


async def test_a_client_that_returns_in_time_gets_the_waiting_calls_again() -> None:
    relay = ToolRelay("r", "s", "t", disconnect_limit_s=30)
    reader = relay.open_reader(0)
    call = asyncio.create_task(relay.call(b"x"))
    await reader.next_calls()
    calls = await reader.next_calls()
    reader.leave()
    again = relay.open_reader(0)
    assert await again.next_calls() == (calls or [(1, b"x")])
    relay.answer(1, b"answer")
    assert await call == b"answer"
    # A new reader ends the one before it.
    third = relay.open_reader(1)
    assert again.has_ended and not third.has_ended
    relay.close()


async def test_closing_fails_what_waits_and_what_comes() -> None:
    relay = ToolRelay("r", "s", "t")
    relay.open_reader(0)
    call = asyncio.create_task(relay.call(b"x"))
    await asyncio.sleep(0)
    relay.close()
    with pytest.raises(NotFound):
        await call
    with pytest.raises(NotFound):
        relay.notify(b"y")


async def test_a_notification_is_given_once() -> None:
    relay = ToolRelay("r", "s", "t")
    relay.notify(b"n")
    assert relay.after(0) == [(1, b"n")]
    assert relay.after(0) == []
    relay.close()


@pytest.mark.clause("security-exhaustion")
@pytest.mark.parametrize("size", [1, 100_000])
async def test_what_waits_for_a_client_that_does_not_read_is_bounded(size: int) -> None:
    relay = ToolRelay("r", "s", "t")
    reader = relay.open_reader(0)
    with pytest.raises(StreamError, match="does not read"):
        for _ in range(MAX_WAITING_BYTES // size + 1):
            relay.notify(bytes(size))
    assert sum(len(body) for _, body in await reader.next_calls()) <= MAX_WAITING_BYTES
    relay.notify(bytes(2 * MAX_WAITING_BYTES))  # one message may always wait
    with pytest.raises(StreamError, match="does not read"):
        relay.notify(b"x")
    relay.close()


@pytest.mark.clause("security-exhaustion")
async def test_what_is_on_its_way_is_bounded() -> None:
    relay = ToolRelay("r", "s", "t")
    with relay.arrival(MAX_WAITING_BYTES - 10), relay.arrival(10):
        with pytest.raises(StreamError, match="at the same time"), relay.arrival(1):
            pass
    with relay.arrival(4 * MAX_WAITING_BYTES):  # one message may always come
        with pytest.raises(StreamError, match="at the same time"), relay.arrival(1):
            pass
    with relay.arrival(1), relay.arrival(1):
        pass
    relay.close()
