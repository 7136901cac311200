"""Codex: one app-server for all sessions of this process; a session is a thread, a prompt is a turn.

Approvals and questions come as requests of the server and are put to the client. ConfigOptions take effect with
the next turn. CODEX_CONFIG (JSON) and INITIAL_AGENT_MODE are read from the environment.
"""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import Any

import msgspec
from acp.schema import PermissionOption, SessionInfo, ToolCallUpdate

from sandbox_agent.agents.adapters.codex import schema as native
from sandbox_agent.agents.adapters.codex.app_server import CodexServer
from sandbox_agent.agents.adapters.codex.events import CodexConverter
from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.native_turn import StopReason, NativeTurn
from sandbox_agent.agents.adapters.common.prompt import PromptPart, PromptText
from sandbox_agent.agents.adapters.common.questions import AnswerOption, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed

_MODES = {
    "read-only": ("Read only", "on-request", "read-only", {"type": "readOnly"}),
    "workspace-write": ("Workspace", "on-request", "workspace-write", {"type": "workspaceWrite"}),
    "full-access": ("Full access", "never", "danger-full-access", {"type": "dangerFullAccess"}),
}
_COLLABORATION = (ConfigValue("default", "Default"), ConfigValue("plan", "Plan", "Asks before it acts"))
_ENDINGS: dict[str, StopReason] = {"completed": "end_turn", "interrupted": "cancelled"}
_APPROVE = [
    PermissionOption(option_id="accept", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="acceptForSession", name="Allow for this session", kind="allow_always"),
    PermissionOption(option_id="decline", name="Reject", kind="reject_once"),
]


class Codex(NativeAgent):
    name = "codex"
    title = "Codex"

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._server = CodexServer(program, self._notified, self._requested, self._garbage, self._ended)
        self._converters: dict[str, CodexConverter] = {}
        self._turn_ids: dict[str, str] = {}
        self._models: list[native.Model] | None = None
        self._background: set[asyncio.Task[None]] = set()

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        mode = os.environ.get("INITIAL_AGENT_MODE", "")
        settings = await self._settings(mode if mode in _MODES else "workspace-write")
        params = self._thread_params(settings, cwd, mcp_servers)
        result = await self._server.call("thread/start", params)
        started = msgspec.convert(result, native.ThreadStartResponse)
        return self._joined(started.thread, started.model, settings, cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        settings = await self._settings("workspace-write")
        params = self._thread_params(settings, cwd, mcp_servers) | {"threadId": session_id}
        result = await self._server.call("thread/resume", params | {"excludeTurns": True})
        resumed = msgspec.convert(result, native.ThreadResumeResponse)
        session = self._joined(resumed.thread, resumed.model, settings, cwd, mcp_servers)
        if replay:
            await self._replay(session_id)
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        settings = session.config
        _, approval, _, sandbox = _MODES[settings.current("mode")]
        model, effort = settings.current("model"), settings.current("thought_level")
        params: dict[str, Any] = {
            "threadId": session.id,
            "input": [_input(part) for part in parts],
            "approvalPolicy": approval,
            "sandboxPolicy": sandbox,
            "model": model,
            "collaborationMode": {
                "mode": settings.current("collaboration_mode"),
                "settings": {"model": model, "reasoning_effort": None, "developer_instructions": None},
            },
        }
        if effort != "default":
            params["effort"] = effort
            params["collaborationMode"]["settings"]["reasoning_effort"] = effort
        result = await self._server.call("turn/start", params)
        self._turn_ids[session.id] = msgspec.convert(result["turn"], native.Turn).id
        if turn.is_cancelled:
            await self.stop_turn(session)

    async def stop_turn(self, session: NativeSession) -> None:
        # Before the answer to turn/start there is nothing to interrupt yet; run_turn looks again.
        if turn_id := self._turn_ids.get(session.id):
            await self._server.call("turn/interrupt", {"threadId": session.id, "turnId": turn_id})

    async def end_turn(self, session: NativeSession) -> None:
        self._turn_ids.pop(session.id, None)

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        params: dict[str, Any] = {"modelProviders": [], "limit": 100} | ({"cwd": cwd} if cwd else {})
        result = await self._server.call("thread/list", params)
        return [
            SessionInfo(
                session_id=thread.id,
                cwd=thread.cwd,
                title=thread.name or thread.preview[:80] or None,
                updated_at=datetime.fromtimestamp(thread.updated_at, UTC).isoformat(),
            )
            for thread in msgspec.convert(result, native.ThreadListResponse).data
        ]

    async def session_closed(self, session: NativeSession) -> None:
        self._converters.pop(session.id, None)
        await self._server.call("thread/unsubscribe", {"threadId": session.id})

    async def stop(self) -> None:
        await self._server.stop()

    # -- threads

    async def _settings(self, mode: str) -> ConfigOptions:
        if self._models is None:
            result = await self._server.call("model/list", {})
            listed = msgspec.convert(result, native.ModelListResponse).data
            self._models = [model for model in listed if not model.hidden]
        efforts = {
            effort.reasoning_effort: ConfigValue(effort.reasoning_effort, effort.reasoning_effort.capitalize())
            for model in self._models
            for effort in model.supported_reasoning_efforts
        }
        modes = [ConfigValue(mode_id, name) for mode_id, (name, *_) in _MODES.items()]
        models = [ConfigValue(model.model, model.display_name, model.description) for model in self._models]
        return ConfigOptions(
            [
                ConfigOption("mode", "Mode", mode, modes, "mode"),
                ConfigOption("collaboration_mode", "Collaboration", "default", _COLLABORATION),
                ConfigOption("model", "Model", "", models, "model"),
                ConfigOption(
                    "thought_level",
                    "Reasoning",
                    "default",
                    [ConfigValue("default", "Default"), *efforts.values()],
                    "thought_level",
                ),
            ]
        )

    def _thread_params(self, settings: ConfigOptions, cwd: str, mcp_servers: list[McpServer]) -> dict[str, Any]:
        _, approval, sandbox, _ = _MODES[settings.current("mode")]
        params: dict[str, Any] = {"cwd": cwd, "approvalPolicy": approval, "sandbox": sandbox}
        if mcp_servers:
            params["config"] = {"mcp_servers": dict(_mcp_server(server) for server in mcp_servers)}
        return params

    def _joined(
        self, thread: native.Thread, model: str, settings: ConfigOptions, cwd: str, mcp_servers: list[McpServer]
    ) -> NativeSession:
        setting = settings["model"]
        setting.current = model
        if model not in [value.id for value in setting.values]:
            setting.values = [ConfigValue(model, model), *setting.values]
        self._converters[thread.id] = CodexConverter()
        return NativeSession(thread.id, cwd, settings, mcp_servers)

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

    # -- what the server says

    def _notified(self, method: str, params: Message) -> None:
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
                self._soon(self.channel.send_updates(known, [item]))
            elif isinstance(item, Unparsed):
                self._soon(self.channel.notify_unparsed(None, item))

    def _turn_completed(self, turn: NativeTurn, params: Message) -> None:
        try:
            completed = msgspec.convert(params, native.TurnCompletedNotification).turn
        except msgspec.ValidationError as error:
            turn.fail(
                adapter_errors.turn_failed("codex", f"the end of the turn cannot be read: {error}", params)
            )
            return
        if completed.error is not None and completed.status == "failed":
            detail = completed.error.codex_error_info
            message = "unauthorized" if detail == "unauthorized" else completed.error.message
            turn.fail(adapter_errors.turn_failed("codex", message, detail))
        else:
            turn.end(_ENDINGS.get(completed.status, "end_turn"))

    def _garbage(self, line: str) -> None:
        item = Unparsed("stdout", line[:4096], "codex wrote a line that is not JSON")
        self._soon(self.channel.notify_unparsed(None, item))

    def _ended(self, error: Exception) -> None:
        for session in self.sessions.values():
            if session.turn is not None:
                session.turn.fail(error)

    def _soon(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- what the server asks

    async def _requested(self, method: str, params: Message) -> Message:
        if method == "item/commandExecution/requestApproval":
            command = msgspec.convert(params, native.CommandExecutionRequestApprovalParams)
            raw = {"command": command.command, "cwd": command.cwd, "reason": command.reason}
            title = command.command or command.reason or "Run a command"
            call = ToolCallUpdate(tool_call_id=command.item_id, title=title, kind="execute", raw_input=raw)
            return {"decision": await self._decision(command.thread_id, call)}
        if method == "item/fileChange/requestApproval":
            change = msgspec.convert(params, native.FileChangeRequestApprovalParams)
            title = change.reason or "Change files"
            call = ToolCallUpdate(tool_call_id=change.item_id, title=title, kind="edit")
            return {"decision": await self._decision(change.thread_id, call)}
        if method == "item/permissions/requestApproval":
            return await self._more_permissions(params)
        if method == "item/tool/requestUserInput":
            return await self._questions(params)
        await self.channel.notify_unparsed(params.get("threadId"), Unparsed(method, params, "a request nobody serves"))
        raise adapter_errors.invalid_params(f"{method} is not served")

    async def _decision(self, thread_id: str, call: ToolCallUpdate) -> str:
        chosen = await self.channel.request_permission(thread_id, call, _APPROVE)
        return chosen or "cancel"

    async def _more_permissions(self, params: Message) -> Message:
        wish = msgspec.convert(params, native.PermissionsRequestApprovalParams)
        title = wish.reason or "Grant more permissions"
        call = ToolCallUpdate(
            tool_call_id=wish.item_id, title=title, kind="other", raw_input={"permissions": wish.permissions}
        )
        decision = await self._decision(wish.thread_id, call)
        granted = wish.permissions if decision in ("accept", "acceptForSession") else {}
        return {"permissions": granted, "scope": "session" if decision == "acceptForSession" else "turn"}

    async def _questions(self, params: Message) -> Message:
        asked = msgspec.convert(params, native.ToolRequestUserInputParams)
        questions = [
            Question(
                text=question.question,
                header=question.header,
                choices=tuple(AnswerOption(option.label, option.description) for option in question.options or ()),
                custom=bool(question.is_other),
            )
            for question in asked.questions
        ]
        answers = await self.channel.ask_questions(asked.thread_id, questions, asked.item_id)
        if answers is None:
            return {"answers": {}}
        pairs = zip(asked.questions, answers, strict=True)
        return {"answers": {question.id: {"answers": chosen} for question, chosen in pairs}}


def _input(part: PromptPart) -> dict[str, Any]:
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    return {"type": "image", "url": f"data:{part.mime_type};base64,{part.data}"}


def _mcp_server(server: Any) -> tuple[str, dict[str, Any]]:
    if stdio := stdio_server(server):
        env = {variable.name: variable.value for variable in stdio.env}
        return stdio.name, {"command": stdio.command, "args": list(stdio.args), "env": env}
    if remote := remote_server(server):
        headers = {header.name: header.value for header in remote.headers}
        return remote.name, {"url": remote.url, "http_headers": headers}
    raise adapter_errors.invalid_params("an MCP server of this kind cannot be passed on to codex")
