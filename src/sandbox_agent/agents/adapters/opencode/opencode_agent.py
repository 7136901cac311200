"""OpenCode: one `opencode serve` for all sessions of this process, prompts over HTTP, events over SSE.

A turn starts with `prompt_async` and ends with the session's `session.idle`. Subagents run in sessions of
their own; their events are shown in the session that started them.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import msgspec
from acp import RequestError
from acp.schema import SessionInfo

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart
from sandbox_agent.agents.adapters.common.updates import Unparsed
from sandbox_agent.agents.adapters.opencode import opencode_user_requests
from sandbox_agent.agents.adapters.opencode import schema as native
from sandbox_agent.agents.adapters.opencode.opencode_converter import OpenCodeConverter
from sandbox_agent.agents.adapters.opencode.opencode_server import OpenCodeServer
from sandbox_agent.agents.adapters.opencode.opencode_session_config import (
    config_options,
    mcp_body,
    prompt_body,
)

_IDLE_AFTER_ERROR_S = 5.0


class OpenCodeAgent(NativeAgent):
    name = "opencode"
    title = "OpenCode"

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._server = OpenCodeServer(
            program, on_invalid_line=self._on_invalid_line, on_end=self.fail_open_turns
        )
        self._requests = opencode_user_requests.OpenCodeUserRequests(self.channel, self._server)
        self._converters: dict[str, OpenCodeConverter] = {}
        self._listeners: dict[str, asyncio.Task[None]] = {}
        self._parents: dict[str, str] = {}
        """From the session of a subagent to the session that started it."""
        self._errors: dict[str, RequestError] = {}

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        await self._listen(cwd)
        created = await self._server.call("POST", "/session", directory=cwd, body={})
        return await self._register_session(msgspec.convert(created, native.Session).id, cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        await self._server.call("GET", f"/session/{session_id}", directory=cwd)
        await self._listen(cwd)
        session = await self._register_session(session_id, cwd, mcp_servers)
        if replay:
            history = await self._server.call("GET", f"/session/{session_id}/message", directory=cwd)
            for message in history:
                await self.channel.send_updates(session_id, self._converters[session_id].stored(message))
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        await self._listen(session.cwd)
        path = f"/session/{session.id}/prompt_async"
        await self._server.call("POST", path, directory=session.cwd, body=prompt_body(session, parts))

    async def stop_turn(self, session: NativeSession) -> None:
        await self._server.call("POST", f"/session/{session.id}/abort", directory=session.cwd)

    async def end_turn(self, session: NativeSession) -> None:
        self._errors.pop(session.id, None)

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        found = []
        for directory in [cwd] if cwd else sorted({session.cwd for session in self.sessions.values()}):
            listed = await self._server.call("GET", "/session", directory=directory)
            for item in msgspec.convert(listed, list[native.Session]):
                changed = datetime.fromtimestamp(item.time.get("updated", 0) / 1000, UTC).isoformat()
                info = SessionInfo(
                    session_id=item.id, cwd=item.directory, title=item.title, updated_at=changed
                )
                found.append(info)
        return found

    async def session_closed(self, session: NativeSession) -> None:
        self._converters.pop(session.id, None)

    async def stop(self) -> None:
        for listener in self._listeners.values():
            listener.cancel()
        await self._server.stop()

    async def _register_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer]
    ) -> NativeSession:
        for server in mcp_servers:
            await self._server.call("POST", "/mcp", directory=cwd, body=mcp_body(server))
        providers = await self._server.call("GET", "/config/providers", directory=cwd)
        agents = await self._server.call("GET", "/agent", directory=cwd)
        config = await self._server.call("GET", "/config", directory=cwd)
        self._converters[session_id] = OpenCodeConverter()
        return NativeSession(session_id, cwd, config_options(agents, providers, config), mcp_servers)

    # -- events of the server

    async def _listen(self, directory: str) -> None:
        """Follow the events of a directory; returns when the stream is established."""
        listener = self._listeners.get(directory)
        if listener is not None and not listener.done():
            return
        # Twice the usual limit: the server may have to start first.
        established, limit_s = asyncio.Event(), 2 * timeouts.answer_s()
        listener = asyncio.create_task(self._follow(directory, established))
        self._listeners[directory] = listener
        ready = asyncio.create_task(established.wait())
        await asyncio.wait([listener, ready], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if listener.done() and (error := listener.exception()) is not None:
            raise error
        if not established.is_set():
            listener.cancel()
            raise adapter_errors.program_silent("opencode", "its events", limit_s)

    async def _follow(self, directory: str, established: asyncio.Event) -> None:
        try:
            async for event in self._server.events(directory):
                established.set()
                self._handle(event)
        except Exception as error:
            self.fail_open_turns(error)
            if not established.is_set():
                raise

    def _handle(self, event: Message) -> None:
        kind, properties = str(event.get("type")), event.get("properties") or {}
        if kind == "session.created" and (parent := (properties.get("info") or {}).get("parentID")):
            self._parents[properties["info"]["id"]] = parent
        session = self._session_of(properties)
        if session is None:
            self._outside_sessions(event)
        elif kind in opencode_user_requests.EVENTS:
            self.run_in_background(self._requests.answer(session, event))
        elif session.turn is None:
            output = self._converters[session.id].event(event)
            self.run_in_background(self.channel.send_updates(session.id, output))
        else:
            session.turn.emit(self._converters[session.id].event(event))
            if properties.get("sessionID") == session.id:
                self._turn_event(session, session.turn, kind, properties)

    def _session_of(self, properties: Message) -> NativeSession | None:
        session_id = str(properties.get("sessionID"))
        while session_id in self._parents:
            session_id = self._parents[session_id]
        return self.sessions.get(session_id)

    def _outside_sessions(self, event: Message) -> None:
        properties = event.get("properties") or {}
        if "sessionID" in properties:
            return  # A session of another client in the same directory.
        for item in OpenCodeConverter().event(event):
            if isinstance(item, Unparsed):
                self.run_in_background(self.channel.notify_unparsed(None, item))

    def _turn_event(self, session: NativeSession, turn: NativeTurn, kind: str, properties: Message) -> None:
        """`session.idle` ends a turn, also a failed one: its `session.error` arrives before."""
        if kind == "session.idle":
            if error := self._errors.pop(session.id, None):
                turn.fail(error)
            turn.end("end_turn")
        elif kind == "session.error":
            reported = properties.get("error") or {}
            if reported.get("name") == "MessageAbortedError":
                turn.cancel()
                return
            message = (reported.get("data") or {}).get("message") or str(reported.get("name"))
            error = self._errors[session.id] = adapter_errors.turn_failed("opencode", message, reported)
            asyncio.get_running_loop().call_later(_IDLE_AFTER_ERROR_S, turn.fail, error)

    def _on_invalid_line(self, line: str) -> None:
        self.run_in_background(self.channel.notify_unparsed(None, self.invalid_line(line)))
