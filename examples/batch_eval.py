"""Run many prompts at once, each in a session of its own; print text, usage and number of messages."""

import asyncio

from sandbox_agent import AsyncSandboxAgent, AsyncSession, SandboxAgentError, auto_reject

TASKS = {"greet": "hello", "count": "stream 5 1", "break": "crash", "refuse": "refuse"}
AT_A_TIME = 3


async def run(client: AsyncSandboxAgent, name: str, prompt: str) -> str:
    session: AsyncSession = await client.sessions.create("mock", isolated=True, metadata={"task": name})
    try:
        result = await session.prompt(prompt, timeout=60)
    except SandboxAgentError as error:
        return f"{name}: failed, {type(error).__name__}"
    finally:
        await session.terminate()
    tokens = result.usage.total_tokens if result.usage else None
    messages = await client.sessions.raw_events(session.id, limit=10_000)
    return f"{name}: {result.stop_reason}, {result.text!r}, {tokens} tokens, {len(messages)} messages"


async def main() -> None:
    slots = asyncio.Semaphore(AT_A_TIME)

    async def limited(client: AsyncSandboxAgent, name: str, prompt: str) -> str:
        async with slots:
            return await run(client, name, prompt)

    async with await AsyncSandboxAgent.start(on_permission=auto_reject) as client:
        for line in await asyncio.gather(*(limited(client, *task) for task in TASKS.items())):
            print(line)


asyncio.run(main())
