"""Many isolated sessions of one client: what they cost to create and keep, and to wait after a cut."""

from __future__ import annotations

import asyncio
import os
import resource
import signal

from bench.clients.measuring import AGENT, arguments, report, resident_mb, spent
from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.sdk.session.session import AsyncSession

AT_ONCE = 20
SETTLE_S = 8.0
"""After the prompts, and again after the cut, all connections are made; then the cost is measured."""
WATCHED_S = 6.0
RECONNECT_S = 60.0
options = arguments()


async def create(client: AsyncSandboxAgent, count: int) -> list[AsyncSession]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one() -> AsyncSession:
        async with limit:
            return await client.sessions.create(AGENT, directory=options.directory, isolated=True)

    return await asyncio.gather(*(one() for _ in range(count)))


async def create_many() -> None:
    async with await AsyncSandboxAgent.connect(options.url, options.token) as client:
        await create(client, 3)
        with spent() as creating:
            sessions = await create(client, options.count)
        with spent() as prompting:
            await asyncio.gather(*(one.prompt("hello") for one in sessions))
        report(
            create_ms=creating.cpu_s * 1e3 / options.count,
            create_wall_s=creating.wall_s,
            prompt_ms=prompting.cpu_s * 1e3 / options.count,
            resident_mb=resident_mb(),
        )


async def all_read(client: AsyncSandboxAgent, count: int) -> None:
    """Wait until the server has a reader for every instance again."""
    deadline = asyncio.get_running_loop().time() + RECONNECT_S
    await asyncio.sleep(1.0)  # the cut has reached both sides
    while sum(bool(one.subscribers) for one in await client.acp.list()) < count:
        if asyncio.get_running_loop().time() > deadline:
            raise TimeoutError(f"not all of {count} streams were opened again in {RECONNECT_S:g} s")
        await asyncio.sleep(1.0)


async def wait_after_cut() -> None:
    async with await AsyncSandboxAgent.connect(options.url, options.token) as client:
        sessions = await create(client, options.count)
        turns = [asyncio.ensure_future(one.prompt("wait")) for one in sessions]
        await asyncio.sleep(SETTLE_S)
        with spent() as before:
            await asyncio.sleep(WATCHED_S / 2)
        os.kill(options.cutter, signal.SIGUSR1)
        await all_read(client, len(sessions))
        await asyncio.sleep(SETTLE_S)
        with spent() as after:
            await asyncio.sleep(WATCHED_S)
        waiting = sum(not turn.done() for turn in turns)
        await asyncio.gather(*(one.cancel() for one in sessions))
        ended = await asyncio.gather(*turns, return_exceptions=True)
        report(
            before_ms_per_s=before.cpu_s * 1e3 / before.wall_s,
            after_ms_per_s=after.cpu_s * 1e3 / after.wall_s,
            lost=options.count - waiting + sum(isinstance(one, BaseException) for one in ended),
        )


_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
asyncio.run(create_many() if options.case == "create" else wait_after_cut())
