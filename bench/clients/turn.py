"""One turn of many chunks, read as events: CPU time of this process per chunk.

`turn` and `turn-sync` read one session. `turns` runs 100 sessions of one process with `count` chunks each.
"""

from __future__ import annotations

import asyncio

from bench.clients.measuring import AGENT, arguments, make_store, report, spent
from sandbox_agent import AsyncSandboxAgent, SandboxAgent

WARM_UP = 1000
SESSIONS = 100
options = arguments()


async def one_turn() -> None:
    store = make_store(options.store, options.directory)
    async with await AsyncSandboxAgent.connect(options.url, options.token, store=store) as client:
        session = await client.sessions.create(AGENT, directory=options.directory)
        await session.prompt(f"flood {WARM_UP}")
        with spent() as turn:
            async with session.stream(f"flood {options.count}") as stream:
                deltas = [event.type async for event in stream].count("item.delta")
        report(cpu_us=turn.cpu_s * 1e6 / options.count, missing=options.count - deltas, wall_s=turn.wall_s)


def one_turn_sync() -> None:
    with SandboxAgent.connect(options.url, options.token) as client:
        session = client.sessions.create(AGENT, directory=options.directory)
        session.prompt(f"flood {WARM_UP}")
        with spent() as turn, session.stream(f"flood {options.count}") as stream:
            deltas = [event.type for event in stream].count("item.delta")
        report(cpu_us=turn.cpu_s * 1e6 / options.count, missing=options.count - deltas, wall_s=turn.wall_s)


async def many_turns() -> None:
    store = make_store(options.store, options.directory)
    async with await AsyncSandboxAgent.connect(options.url, options.token, store=store) as client:
        sessions = [await client.sessions.create(AGENT, directory=options.directory) for _ in range(SESSIONS)]
        with spent() as turns:
            results = await asyncio.gather(*(one.prompt(f"flood {options.count}") for one in sessions))
        chunks = sum(result.text.count("chunk") for result in results)
        report(
            cpu_us=turns.cpu_s * 1e6 / (options.count * SESSIONS),
            missing=options.count * SESSIONS - chunks,
            wall_s=turns.wall_s,
        )


if options.case == "turn-sync":
    one_turn_sync()
else:
    asyncio.run(one_turn() if options.case == "turn" else many_turns())
