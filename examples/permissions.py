"""Answer permission requests: with a ready-made callback, with your own, or as a reader of the events."""

import asyncio

from sandbox_agent import AsyncSandboxAgent, PermissionRequest, PermissionRequested, allow_kinds


async def decide(request: PermissionRequest) -> str:
    print("The agent wants to:", request.action, "- possible:", request.available_replies)
    return "once" if request.kind == "edit" else "reject"


async def main() -> None:
    async with AsyncSandboxAgent.start(on_permission=allow_kinds("read", "search")) as client:
        careful = await client.sessions.create("mock")
        print((await careful.prompt("permission")).text)

        asking = await client.sessions.create("mock", on_permission=decide)
        print((await asking.prompt("permission")).text)

        # Without a callback, the reader of the events answers.
        client.sessions.handlers.on_permission = None
        by_hand = await client.sessions.create("mock")
        async with by_hand.stream("permission") as turn:
            async for event in turn:
                if isinstance(event, PermissionRequested):
                    await by_hand.reply_permission(event.data.permission_id, "always")
        print((await turn.result()).text)


asyncio.run(main())
