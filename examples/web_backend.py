"""A web backend that relays sessions to browsers; users authenticate here, the server's token stays here.

    pip install 'sandbox-agent[uvicorn]'
    python examples/web_backend.py              # then, with the token of a user:

    curl -X POST localhost:8000/chats -H 'authorization: Bearer token-of-ann'
    curl -N localhost:8000/chats/ID/events -H 'authorization: Bearer token-of-ann'
    curl -X POST localhost:8000/chats/ID/prompts -H '...' -d '{"text": "permission"}'
    curl -X POST localhost:8000/chats/ID/permissions/PERMISSION -H '...' -d '{"reply": "once"}'

Events are universal events as server-sent events, numbered by their sequence: a browser that reconnects
with Last-Event-ID gets the events it missed.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from sandbox_agent import AsyncSandboxAgent, AsyncSession, SandboxAgentError
from sandbox_agent.sdk.universal import event_to_json

USERS = {"token-of-ann": "ann", "token-of-bob": "bob"}  # a real backend uses a database


class Refused(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Backend:
    """A plain ASGI application; any ASGI server runs it."""

    client: AsyncSandboxAgent

    def __init__(self) -> None:
        self.chats: dict[str, tuple[str, AsyncSession]] = {}
        self.turns: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: dict, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.live(receive, send)
        elif scope["type"] == "http":
            try:
                await self.answer(scope, receive, send)
            except (Refused, SandboxAgentError) as error:
                body = {"error": str(error)}
                await reply(send, getattr(error, "status", 502), json.dumps(body).encode())

    async def live(self, receive: Any, send: Any) -> None:
        await receive()
        # One sandbox for all users; a real backend has one per user or per project.
        self.client = await AsyncSandboxAgent.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.client.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def answer(self, scope: dict, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        user = USERS.get(headers.get("authorization", "").removeprefix("Bearer "))
        if user is None:
            raise Refused(401, "unknown token")
        match scope["method"], *scope["path"].strip("/").split("/"):
            case "POST", "chats":
                session = await self.client.sessions.create("mock", title=f"chat of {user}")
                self.chats[session.id] = (user, session)
                await reply(send, 201, json.dumps({"id": session.id}).encode())
            case "GET", "chats", chat, "events":
                since = int(headers.get("last-event-id", 0))
                await relay(send, receive, self.session(user, chat).follow(since=since))
            case "POST", "chats", chat, "prompts":
                text = json.loads(await read(receive))["text"]
                turn = asyncio.create_task(self.session(user, chat).prompt(text))
                self.turns.add(turn)
                turn.add_done_callback(self.turns.discard)
                await reply(send, 202, b"")
            case "POST", "chats", chat, "permissions", permission:
                answer = json.loads(await read(receive))["reply"]
                await self.session(user, chat).reply_permission(permission, answer)
                await reply(send, 204, b"")
            case _:
                raise Refused(404, "not found")

    def session(self, user: str, chat: str) -> AsyncSession:
        owner, session = self.chats.get(chat, (None, None))
        if session is None or owner != user:
            raise Refused(404, "no such chat")
        return session


async def read(receive: Any) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return body


async def reply(send: Any, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def relay(send: Any, receive: Any, events: AsyncIterator[Any]) -> None:
    """Send events to one browser until it disconnects."""
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def copy() -> None:
        async for event in events:
            frame = b"id: %d\ndata: %b\n\n" % (event.sequence, event_to_json(event))
            await send({"type": "http.response.body", "body": frame, "more_body": True})

    copying = asyncio.create_task(copy())
    while (await receive())["type"] != "http.disconnect":
        pass
    copying.cancel()


if __name__ == "__main__":
    import uvicorn

    uvicorn.run(Backend(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
