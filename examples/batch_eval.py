"""Run many tasks at once, each in a session and a process of its own, and grade the answers."""

import asyncio
from dataclasses import dataclass

from sandbox_agent import AsyncSandboxAgent, SandboxAgentError, TurnResult, auto_reject

TASKS = {
    "greet": ("hello", "hello"),
    "count": ("stream 5 1", "chunk 5"),
    "break": ("crash", "never"),
    "slow": ("stream 1000 20", "chunk 3"),
}
AT_A_TIME = 3


@dataclass
class Outcome:
    name: str
    passed: bool
    how: str
    result: TurnResult | None


async def run(client: AsyncSandboxAgent, name: str, prompt: str, wanted: str) -> Outcome:
    # `isolated`: a crash ends this task only. Leaving the block ends the process.
    async with client.sessions.create("mock", isolated=True, metadata={"task": name}) as session:
        try:
            result = await session.prompt(prompt, timeout=3)
            how = result.stop_reason
        except SandboxAgentError as error:
            # What the agent said before the error is graded too.
            result, how = error.result, type(error).__name__
    return Outcome(name, result is not None and wanted in result.text, how, result)


async def main() -> None:
    slots = asyncio.Semaphore(AT_A_TIME)

    async def limited(client: AsyncSandboxAgent, name: str, prompt: str, wanted: str) -> Outcome:
        async with slots:
            return await run(client, name, prompt, wanted)

    async with AsyncSandboxAgent.start(on_permission=auto_reject) as client:
        tasks = [limited(client, name, *task) for name, task in TASKS.items()]
        for outcome in await asyncio.gather(*tasks):
            usage = outcome.result.usage if outcome.result else None
            tokens = usage.total_tokens if usage else None
            grade = "passed" if outcome.passed else "failed"
            print(f"{outcome.name}: {grade} ({outcome.how}, {tokens} tokens)")
        messages = [len(await client.sessions.raw_events(one.id)) for one in await client.sessions.list()]
        left = len(await client.acp.list())
        print(f"{sum(messages)} messages of {len(messages)} sessions, {left} agents left")


asyncio.run(main())
