"""`RunOnce`: concurrent callers share one attempt."""

from __future__ import annotations

import asyncio

from sandbox_agent.sdk.transport.run_once import RunOnce
from tests.support.polling import eventually


async def test_concurrent_callers_fail_together_and_the_next_tries_again() -> None:
    tries: list[asyncio.Event] = []

    async def work() -> None:
        tries.append(asyncio.Event())
        await tries[-1].wait()
        if len(tries) == 1:
            raise LookupError("not yet")

    once = RunOnce(work)
    waiting = [asyncio.create_task(once.run()) for _ in range(3)]
    await eventually(lambda: len(tries) == 1)
    tries[0].set()
    assert {str(one) for one in await asyncio.gather(*waiting, return_exceptions=True)} == {"not yet"}
    again = asyncio.create_task(once.run())
    await eventually(lambda: len(tries) == 2)
    tries[1].set()
    await again
    await once.run()
    assert len(tries) == 2
