"""Codex: one app-server for all sessions of this process; a session is a thread, a prompt is a turn.

Config options take effect with the next turn. CODEX_CONFIG (JSON) and INITIAL_AGENT_MODE are read from the
environment.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import msgspec
from acp.schema import SessionInfo

from sandbox_agent.agents.adapters.codex import schema as native
from sandbox_agent.agents.adapters.codex.app_server import CodexServer
from sandbox_agent.agents.adapters.codex.codex_converter import CodexConverter
from sandbox_agent.agents.adapters.codex.codex_session_config import (
    DEFAULT_MODE,
    MODES,
    config_options,
    select_model,
    thread_params,
    turn_params,
)
from sandbox_agent.agents.adapters.codex.codex_user_requests import CodexUserRequests
from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.agents.adapters.common.config_options import ConfigOptions
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn, StopReason
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart
from sandbox_agent.agents.adapters.common.updates import Unparsed

_STOP_REASONS: dict[str, StopReason] = {"completed": "end_turn", "interrupted": "cancelled"}


class CodexAgent(NativeAgent):
    name = "codex"
    title = "Codex"

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._server = CodexServer(
            program,
            on_notification=self._on_notification,
            on_request=CodexUserRequests(self.channel, self._running_mcp_call).answer,
            on_invalid_line=self._on_invalid_line,
            on_end=self.fail_open_turns,
        )
        self._converters: dict[str, CodexConverter] = {}
        self._turn_ids: dict[str, str] = {}
        self._models: list[native.Model] | None = None

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        mode = os.environ.get("INITIAL_AGENT_MODE", "")
        config = config_options(await self._list_models(), mode if mode in MODES else DEFAULT_MODE)
        result = await self._server.call("thread/start", thread_params(config, cwd, mcp_servers))
        started = msgspec.convert(result, native.ThreadStartResponse)
        return self._register_session(started.thread, started.model, config, cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        config = config_options(await self._list_models(), DEFAULT_MODE)
        params = thread_params(config, cwd, mcp_servers) | {"threadId": session_id, "excludeTurns": True}
        resumed = msgspec.convert(
            await self._server.call("thread/resume", params), native.ThreadResumeResponse
        )
        session = self._register_session(resumed.thread, resumed.model, config, cwd, mcp_servers)
        if replay:
            await self._replay(session_id)
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        result = await self._server.call("turn/start", turn_params(session, parts))
        self._turn_ids[session.id] = msgspec.convert(result["turn"], native.Turn).id
        if turn.is_cancelled:
            await self.stop_turn(session)

    async def stop_turn(self, session: NativeSession) -> None:
        # Before the answer to turn/start there is nothing to interrupt; run_turn checks again after it.
        if turn_id := self._turn_ids.get(session.id):
            await self._server.call("turn/interrupt", {"threadId": session.id, "turnId": turn_id})

    async def end_turn(self, session: NativeSession) -> None:
        self._turn_ids.pop(session.id, None)

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        params: dict[str, Any] = {"modelProviders": [], "limit": 100} | ({"cwd": cwd} if cwd else {})
        threads: list[native.Thread] = []
        while True:
            result = await self._server.call("thread/list", params)
            page = msgspec.convert(result, native.ThreadListResponse)
            threads += page.data
            if not page.next_cursor:
                break
            params["cursor"] = page.next_cursor
        return [
            SessionInfo(
                session_id=thread.id,
                cwd=thread.cwd,
                title=thread.name or thread.preview[:80] or None,
                updated_at=datetime.fromtimestamp(thread.updated_at, UTC).isoformat(),
            )
            for thread in threads
        ]

    async def session_closed(self, session: NativeSession) -> None:
        self._converters.pop(session.id, None)
        await self._server.call("thread/unsubscribe", {"threadId": session.id})

    async def stop(self) -> None:
        await self._server.stop()

    # -- threads

    async def _list_models(self) -> list[native.Model]:
        if self._models is None:
            result = await self._server.call("model/list", {})
            listed = msgspec.convert(result, native.ModelListResponse).data
            self._models = [model for model in listed if not model.hidden]
        return self._models

    def _register_session(
        self, thread: native.Thread, model: str, config: ConfigOptions, cwd: str, mcp_servers: list[McpServer]
    ) -> NativeSession:
        select_model(config, model)
        self._converters[thread.id] = CodexConverter()
        return NativeSession(thread.id, cwd, config, mcp_servers)

    async def _replay(self, thread_id: str) -> None:
        cursor: str | None = None
        while True:
            params = {"threadId": thread_id, "sortDirection": "asc", "itemsView": "full", "cursor": cursor}
            result = await self._server.call("thread/turns/list", params)
            page = msgspec.convert(result, native.ThreadTurnsListResponse)
            for turn in page.data:
                for item in turn.items:
                    output = self._converters[thread_id].item(item, replay=True)
                    await self.channel.send_updates(thread_id, output)
            cursor = page.next_cursor
            if not cursor:
                return

    # -- messages of the app-server

    def _running_mcp_call(self, thread_id: str, server: str) -> str | None:
        converter = self._converters.get(thread_id)
        return converter.running_mcp_call(server) if converter else None

    def _on_notification(self, method: str, params: Message) -> None:
        thread_id = params.get("threadId")
        session = self.sessions.get(thread_id or "")
        turn = session.turn if session else None
        converter = self._converters.get(thread_id or "")
        if converter is None or turn is None:
            self._outside_turns(converter or CodexConverter(), thread_id, method, params)
            return
        turn.emit(converter.notification(method, params))
        if method == "turn/completed":
            self._turn_completed(turn, params)

    def _outside_turns(
        self, converter: CodexConverter, thread_id: str | None, method: str, params: Message
    ) -> None:
        output = converter.notification(method, params)
        known = thread_id if thread_id in self.sessions else None
        for item in output:
            if known is not None:
                self.run_in_background(self.channel.send_updates(known, [item]))
            elif isinstance(item, Unparsed):
                self.run_in_background(self.channel.notify_unparsed(None, item))

    def _turn_completed(self, turn: NativeTurn, params: Message) -> None:
        try:
            completed = msgspec.convert(params, native.TurnCompletedNotification).turn
        except msgspec.ValidationError as error:
            turn.fail(adapter_errors.unreadable_result("codex", error, params))
            return
        if completed.error is not None and completed.status == "failed":
            detail = completed.error.codex_error_info
            message = "unauthorized" if detail == "unauthorized" else completed.error.message
            turn.fail(adapter_errors.turn_failed("codex", message, detail))
        else:
            turn.end(_STOP_REASONS.get(completed.status, "end_turn"))

    def _on_invalid_line(self, line: str) -> None:
        self.run_in_background(self.channel.notify_unparsed(None, self.invalid_line(line)))
