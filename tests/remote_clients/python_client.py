"""Drives the official Python SDK's HTTP or WebSocket client, unchanged, and prints one JSON line.

For each exercise the line has "ok", or what went wrong. URL, TRANSPORT (http, ws) and TOKEN say where.
"""

from __future__ import annotations

import asyncio
import json
import os
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from acp import connect_to_agent, text_block
from acp.client.connection import ClientSideConnection
from acp.http import create_http_stream
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    RequestPermissionResponse,
)
from acp.ws import create_websocket_stream

URL, TRANSPORT, TOKEN = (os.environ.get(name, "") for name in ("URL", "TRANSPORT", "TOKEN"))
LIMIT_S = float(os.environ.get("LIMIT_MS", "20000")) / 1000
CAPABILITIES = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))


class Peer:
    """A client that records what the agent says, by session."""

    connection: ClientSideConnection

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.asked: list[str] = []

    def on_connect(self, conn: Any) -> None:
        pass

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if update.session_update == "agent_message_chunk":
            self.texts[session_id] = self.text(session_id) + update.content.text

    async def request_permission(self, options: Any, **_: Any) -> RequestPermissionResponse:
        self.asked.append("permission")
        chosen = next(option for option in options if option.kind == "allow_once")
        outcome = AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def create_elicitation(self, *_: Any, **__: Any) -> DeclineElicitationResponse:
        self.asked.append("elicitation")
        return DeclineElicitationResponse(action="decline")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        pass

    def text(self, session_id: str) -> str:
        return self.texts.get(session_id, "")

    async def open(self) -> str:
        return (await self.connection.new_session(cwd=os.getcwd(), mcp_servers=[])).session_id

    async def prompt(self, session_id: str, text: str) -> str:
        answer = await self.connection.prompt(session_id=session_id, prompt=[text_block(text)])
        return answer.stop_reason


@asynccontextmanager
async def connected() -> AsyncIterator[Peer]:
    headers = {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}
    if TRANSPORT == "ws":
        transport = await create_websocket_stream(URL, headers=headers)
    else:
        transport = create_http_stream(URL, headers=headers)
    peer = Peer()
    peer.connection = connect_to_agent(peer, transport, use_unstable_protocol=True)  # type: ignore[arg-type]
    try:
        await peer.connection.initialize(protocol_version=1, client_capabilities=CAPABILITIES)
        yield peer
    finally:
        with suppress(Exception):
            await peer.connection.close()
        with suppress(Exception):
            await transport.close()


async def wait_for(condition: Callable[[], bool], what: str) -> None:
    async with asyncio.timeout(LIMIT_S / 2):
        # The client under test calls back, but has no event to wait for.
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert condition(), what


async def new_and_prompt(peer: Peer) -> None:
    session = await peer.open()
    assert await peer.prompt(session, "echo hello") == "end_turn"
    await wait_for(lambda: peer.text(session) == "hello", "hello")


async def permission(peer: Peer) -> None:
    session = await peer.open()
    await peer.prompt(session, "permission")
    await wait_for(lambda: "allow_once" in peer.text(session), "the outcome")
    assert peer.asked == ["permission"]


async def load_and_prompt(peer: Peer) -> None:
    session = await peer.open()
    await peer.prompt(session, "echo remember")
    await peer.connection.close()
    async with connected() as again:
        await again.connection.load_session(cwd=os.getcwd(), session_id=session, mcp_servers=[])
        await wait_for(lambda: "remember" in again.text(session), "the replayed message")
        await again.prompt(session, "echo afterwards")
        await wait_for(lambda: again.text(session).endswith("afterwards"), "the answer")


async def cancel(peer: Peer) -> None:
    session = await peer.open()
    turn = asyncio.create_task(peer.prompt(session, "stream 10000 20"))
    # This client does not order its POSTs, so the cancel waits for a sign of the turn.
    await wait_for(lambda: "chunk 1" in peer.text(session), "the first chunk")
    await peer.connection.cancel(session_id=session)
    assert await turn == "cancelled"


async def two_sessions(peer: Peer) -> None:
    one, two = await peer.open(), await peer.open()
    assert one != two
    await asyncio.gather(peer.prompt(one, "stream 20 5"), peer.prompt(two, "echo second"))
    await wait_for(lambda: "chunk 20" in peer.text(one), "the end of the first")
    await wait_for(lambda: peer.text(two) == "second", "the second")


async def elicitation(peer: Peer) -> None:
    session = await peer.open()
    await peer.prompt(session, "elicit")
    assert peer.asked == ["elicitation"], peer.asked
    await wait_for(lambda: bool(peer.text(session)), "the final message")


EXERCISES: dict[str, Callable[[Peer], Awaitable[None]]] = {
    exercise.__name__: exercise
    for exercise in (new_and_prompt, permission, load_and_prompt, cancel, two_sessions, elicitation)
}


async def attempt(exercise: Callable[[Peer], Awaitable[None]]) -> str:
    try:
        async with asyncio.timeout(LIMIT_S), connected() as peer:
            await exercise(peer)
    except TimeoutError:
        return "no answer in time"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return "ok"


async def main() -> None:
    chosen = os.environ.get("EXERCISES", ",".join(EXERCISES)).split(",")
    print(json.dumps({name: await attempt(EXERCISES[name]) for name in chosen}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asyncio.run(main())
