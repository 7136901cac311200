"""A stored session of many messages: `resume()`, `follow(since=newest)`, and how long the loop is busy.

The history is written through the SDK's own recorder, as a client writes it.
"""

from __future__ import annotations

import asyncio
import time
from statistics import median

from bench.clients.measuring import AGENT, arguments, make_store, report, spent
from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.sdk.stores import SessionStore

TURN = 100
"""Messages of one turn of the stored history."""
TICK_S = 0.002
ROUNDS = 5
options = arguments()


class LoopWatch:
    """The most CPU time that the loop's thread spent before it ran another task."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(TICK_S)
            self.longest_s = max(self.longest_s, time.thread_time() - before)

    def stop(self) -> None:
        self._task.cancel()


async def fill(store: SessionStore, session_id: str) -> None:
    """Let a session run turns until it has the wanted number of messages."""
    async with await AsyncSandboxAgent.connect(options.url, options.token, store=store) as client:
        session = await client.sessions.create(AGENT, directory=options.directory, id=session_id)
        for _ in range(options.count // TURN):
            await session.prompt(f"flood {TURN - 2}")


async def one_round() -> dict[str, float]:
    store = make_store(options.store, options.directory)
    async with await AsyncSandboxAgent.connect(options.url, options.token, store=store) as client:
        watch = LoopWatch()
        with spent() as resuming:
            session = await client.sessions.resume("long")
        resume_block = watch.longest_s
        newest = (await session.prompt("hello")).events[-1].sequence
        watch.longest_s = 0.0
        with spent() as following:
            event = await anext(session.follow(since=newest - 1))
        watch.stop()
        if event.sequence != newest:
            raise RuntimeError(f"event {event.sequence} instead of {newest}")
        return {
            "resume_cpu_s": resuming.cpu_s,
            "follow_cpu_s": following.cpu_s,
            "block_ms": max(resume_block, watch.longest_s) * 1e3,
        }


async def main() -> None:
    await fill(make_store(options.store, options.directory), "long")
    rounds = [await one_round() for _ in range(ROUNDS)]
    report(**{name: median(one[name] for one in rounds) for name in rounds[0]})


asyncio.run(main())
