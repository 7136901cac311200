"""The Python SDK's own server under uvicorn, on a free loopback port, which it prints.

Its agent runs in the server and does what the exercises need of the mock agent: that server cannot pass
messages on to a process.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from acp import update_agent_message_text
from acp.http.asgi import create_asgi_app
from acp.schema import (
    AgentCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)

HISTORY = Path(sys.argv[1])


class ExerciseAgent:
    def __init__(self, client: Any) -> None:
        self.client = client
        self.cancelled: dict[str, asyncio.Event] = {}

    def on_connect(self, conn: Any) -> None:
        pass

    async def initialize(self, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=1, agent_capabilities=AgentCapabilities(load_session=True))

    async def new_session(self, **_: Any) -> NewSessionResponse:
        session = uuid4().hex
        self.cancelled[session] = asyncio.Event()
        return NewSessionResponse(session_id=session)

    async def load_session(self, session_id: str, **_: Any) -> LoadSessionResponse:
        self.cancelled[session_id] = asyncio.Event()
        await self.say(session_id, (HISTORY / session_id).read_text())
        return LoadSessionResponse()

    async def say(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id, update_agent_message_text(text))

    async def cancel(self, session_id: str, **_: Any) -> None:
        self.cancelled[session_id].set()

    async def is_cancelled(self, session_id: str, limit_s: float | None) -> bool:
        """Wait for the cancellation of the turn; false if it has not come within `limit_s`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.cancelled[session_id].wait(), limit_s)
        return self.cancelled[session_id].is_set()

    async def prompt(self, session_id: str, prompt: Any, **_: Any) -> PromptResponse:
        command, _, rest = prompt[0].text.partition(" ")
        if command == "echo":
            (HISTORY / session_id).write_text(rest)
            await self.say(session_id, rest)
        elif command == "stream":
            count, pause_ms = map(int, rest.split())
            for number in range(1, count + 1):
                await self.say(session_id, f"chunk {number}")
                if await self.is_cancelled(session_id, pause_ms / 1000):
                    return PromptResponse(stop_reason="cancelled")
        elif command == "hang":
            await self.is_cancelled(session_id, None)
            return PromptResponse(stop_reason="cancelled")
        elif command == "permission":
            option = PermissionOption(option_id="allow", name="Allow", kind="allow_once")
            call = ToolCallUpdate(tool_call_id="1", title="A tool")
            answer = await self.client.request_permission(
                session_id=session_id, tool_call=call, options=[option]
            )
            await self.say(session_id, f"{answer.outcome.option_id} (allow_once)")
        else:
            form = ElicitationFormSessionMode(
                session_id=session_id, requested_schema=ElicitationSchema(type="object", properties={})
            )
            answer = await self.client.create_elicitation(message="?", mode=form)
            await self.say(session_id, f"answered {answer.action}")
        return PromptResponse(stop_reason="end_turn")


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_asgi_app(ExerciseAgent)  # type: ignore[arg-type]
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on"))
    threading.Thread(
        target=lambda: (sys.stdin.read(), setattr(server, "should_exit", True)), daemon=True
    ).start()
    print(listener.getsockname()[1], flush=True)
    server.run([listener])


if __name__ == "__main__":
    main()
