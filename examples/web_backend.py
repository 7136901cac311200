"""A FastAPI backend that relays sessions to browsers; users authenticate here, the server's token stays here.

    pip install sandbox-agent fastapi uvicorn
    python examples/web_backend.py              # then, with the token of a user:

    curl -X POST localhost:8000/chats -H 'authorization: Bearer token-of-ann'
    curl -N localhost:8000/chats/ID/events -H 'authorization: Bearer token-of-ann'
    curl -X POST localhost:8000/chats/ID/prompts -H '...' --json '{"text": "permission"}'
    curl -X POST localhost:8000/chats/ID/permissions/PERMISSION -H '...' --json '{"reply": "once"}'

Events are universal events as server-sent events, numbered by their sequence: a browser that reconnects
with Last-Event-ID gets the events it missed. A prompt during another one is refused with 409.
"""

import os
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

from sandbox_agent import (
    AsyncSandboxAgent,
    AsyncSession,
    ConcurrentPromptError,
    SandboxAgentError,
    event_to_json,
)

USERS = {"token-of-ann": "ann", "token-of-bob": "bob"}  # a real backend uses a database


class Prompt(BaseModel):
    text: str


class Answer(BaseModel):
    reply: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    # One sandbox for all users; a real backend has one per user or per project.
    async with AsyncSandboxAgent.start() as client:
        app.state.client, app.state.chats = client, {}
        yield


app = FastAPI(lifespan=lifespan)


def current_user(authorization: Annotated[str, Header()] = "") -> str:
    user = USERS.get(authorization.removeprefix("Bearer "))
    if user is None:
        raise HTTPException(401, "unknown token")
    return user


User = Annotated[str, Depends(current_user)]


def chat_of(chat: str, user: User, request: Request) -> AsyncSession:
    owner, session = request.app.state.chats.get(chat, (None, None))
    if session is None or owner != user:
        raise HTTPException(404, "no such chat")
    found: AsyncSession = session
    return found


Chat = Annotated[AsyncSession, Depends(chat_of)]


@app.exception_handler(SandboxAgentError)
async def failed(_: Request, error: SandboxAgentError) -> JSONResponse:
    status = 409 if isinstance(error, ConcurrentPromptError) else 502
    return JSONResponse({"error": str(error)}, status)


@app.post("/chats", status_code=201)
async def create(user: User, request: Request) -> dict[str, str]:
    client: AsyncSandboxAgent = request.app.state.client
    session = await client.sessions.create("mock", title=f"chat of {user}")
    request.app.state.chats[session.id] = (user, session)
    return {"id": session.id}


@app.get("/chats/{chat}/events")
async def events(session: Chat, last_event_id: Annotated[int, Header()] = 0) -> StreamingResponse:
    async def frames() -> AsyncIterator[bytes]:
        async for event in session.follow(since=last_event_id):
            yield b"id: %d\ndata: %b\n\n" % (event.sequence, event_to_json(event))

    return StreamingResponse(frames(), media_type="text/event-stream")


@app.post("/chats/{chat}/prompts", status_code=202)
async def prompt(session: Chat, body: Prompt) -> dict[str, str]:
    return {"turn": session.start(body.text, queue=False).id}


@app.post("/chats/{chat}/permissions/{permission}", status_code=204)
async def answer(session: Chat, permission: str, body: Answer) -> None:
    await session.reply_permission(permission, body.reply)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
