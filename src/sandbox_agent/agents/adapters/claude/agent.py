"""Claude Code: a process per turn in host mode, continued with `--resume`.

Permissions, AskUserQuestion and ExitPlanMode come on stdout and are answered on stdin (claude_requests.py).
Nothing runs between turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from typing import Any

import msgspec
from acp.schema import SessionInfo

from sandbox_agent.agents.adapters.claude import schema as native
from sandbox_agent.agents.adapters.claude import transcripts
from sandbox_agent.agents.adapters.claude.events import ClaudeConverter, Result, read_result
from sandbox_agent.agents.adapters.claude.user_requests import ClaudeRequests
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json
from sandbox_agent.agents.adapters.common.config_options import Setting, Settings, Value
from sandbox_agent.agents.adapters.common.native_agent import (
    McpServers,
    NativeAgent,
    Session,
    remote_server,
    stdio_server,
)
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess
from sandbox_agent.agents.adapters.common.native_turn import StopReason, Turn
from sandbox_agent.agents.adapters.common.prompt import Picture, Text
from sandbox_agent.agents.adapters.common.updates import Unparsed

_MODES = [
    Value("default", "Default", "Asks before tools run"),
    Value("acceptEdits", "Accept edits", "Asks before commands run"),
    Value("plan", "Plan", "Plans first and asks for approval"),
    Value("dontAsk", "Don't ask", "Denies what is not allowed already"),
]
_BYPASS = Value("bypassPermissions", "Bypass permissions", "Never asks")
_MODELS = [Value(name, name.capitalize()) for name in ("default", "sonnet", "opus", "haiku")]
_STOP_REASONS: dict[str, StopReason] = {"max_tokens": "max_tokens", "refusal": "refusal"}


class Claude(NativeAgent):
    name = "claude"
    title = "Claude Code"

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._processes: dict[str, NativeProcess] = {}
        self._converters: dict[str, ClaudeConverter] = {}
        self._begun: set[str] = set()
        """Sessions that Claude knows: they are resumed, others are made."""
        self._requests: dict[str, ClaudeRequests] = {}

    async def open_session(self, cwd: str, mcp_servers: McpServers) -> Session:
        return self._session(str(uuid.uuid4()), cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: McpServers, *, replay: bool
    ) -> Session:
        transcript = await asyncio.to_thread(transcripts.find, session_id)
        if transcript is None:
            raise adapter_errors.unknown_session(session_id)
        session = self._session(session_id, cwd, mcp_servers)
        self._begun.add(session_id)
        if replay:
            for line in await asyncio.to_thread(lambda: list(transcripts.lines(transcript))):
                if line.get("type") in ("user", "assistant") and not line.get("isSidechain"):
                    await self.desk.send(session_id, self._converters[session_id].line(line, replay=True))
        return session

    async def run_turn(self, session: Session, turn: Turn, parts: list[Text | Picture]) -> None:
        process = await NativeProcess.start(
            "claude",
            self._arguments(session),
            cwd=session.cwd,
            env=_environment(),
            on_message=lambda message: self._take(session, turn, message),
            on_garbage=lambda line: turn.emit([_garbage(line)]),
        )
        self._processes[session.id] = process
        self._requests[session.id] = ClaudeRequests(self.desk, session, process.send)
        process.ended.add_done_callback(lambda _: turn.fail(process.fault()))
        process.send(_control({"subtype": "initialize"}))
        content = [stream_json.user_block(part) for part in parts]
        message = {"role": "user", "content": content}
        process.send({"type": "user", "session_id": "", "parent_tool_use_id": None, "message": message})
        if turn.is_cancelled:
            await self.stop_turn(session)

    async def stop_turn(self, session: Session) -> None:
        if process := self._processes.get(session.id):
            process.send(_control({"subtype": "interrupt"}))

    async def end_turn(self, session: Session) -> None:
        if requests := self._requests.pop(session.id, None):
            requests.close()
        if process := self._processes.pop(session.id, None):
            await process.stop()

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        return await asyncio.to_thread(transcripts.sessions, cwd)

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop(polite_s=1) for process in list(self._processes.values())))

    def _session(self, session_id: str, cwd: str, mcp_servers: McpServers) -> Session:
        # As root Claude refuses to bypass permissions anywhere but in a sandbox.
        may_bypass = os.geteuid() != 0 or os.environ.get("IS_SANDBOX") == "1"
        modes = [*_MODES, _BYPASS] if may_bypass else _MODES
        model = os.environ.get("ANTHROPIC_MODEL") or "default"
        known = _MODELS if model in [value.id for value in _MODELS] else [*_MODELS, Value(model, model)]
        self._converters[session_id] = ClaudeConverter()
        settings = [
            Setting("mode", "Mode", "default", modes, "mode"),
            Setting("model", "Model", model, known, "model"),
        ]
        return Session(session_id, cwd, Settings(settings), mcp_servers)

    def _arguments(self, session: Session) -> list[str]:
        words = "--print --output-format stream-json --input-format stream-json --verbose"
        words += " --include-partial-messages --permission-prompt-tool stdio"
        known = "--resume" if session.id in self._begun else "--session-id"
        arguments = [self.program, *words.split(), known, session.id]
        arguments += ["--permission-mode", session.settings.current("mode")]
        if (model := session.settings.current("model")) != "default":
            arguments += ["--model", model]
        if session.mcp_servers:
            servers = dict(_mcp_server(server) for server in session.mcp_servers)
            arguments += ["--mcp-config", json.dumps({"mcpServers": servers})]
        return arguments

    # -- what Claude says

    def _take(self, session: Session, turn: Turn, message: Message) -> None:
        kind = message.get("type")
        mode = message.get("permissionMode") if message.get("subtype") == "status" else None
        if mode is not None and mode == session.settings.current("mode"):
            return  # said when it was chosen
        turn.emit(self._converters[session.id].line(message))
        if mode is not None:
            # Claude has changed it by itself, as EnterPlanMode does.
            session.settings["mode"].current = str(mode)
            turn.emit([session.settings.update()])
        if requests := self._requests.get(session.id):
            requests.heard(message)
        if kind == "system" and message.get("subtype") == "init":
            self._begun.add(session.id)
        elif kind == "control_response":
            self._learn(session, turn, message)
        elif kind == "result":
            try:
                _end(turn, read_result(message))
            except msgspec.ValidationError as error:
                turn.fail(
                    adapter_errors.turn_failed(
                        "claude", f"the end of the turn cannot be read: {error}", message
                    )
                )

    def _learn(self, session: Session, turn: Turn, message: Message) -> None:
        """The answer to `initialize` brings the models there really are."""
        try:
            known = msgspec.convert(message["response"]["response"], native.SDKControlInitializeResponse)
        except (KeyError, TypeError, msgspec.ValidationError):
            return
        setting = session.settings["model"]
        values = [Value(model.value, model.display_name, model.description) for model in known.models]
        if setting.current not in [value.id for value in values]:
            values.append(Value(setting.current, setting.current))
        if values != setting.values:
            setting.values = values
            turn.emit([session.settings.update()])


def _end(turn: Turn, result: Result) -> None:
    if isinstance(result, native.SDKResultError):
        if result.subtype == "error_max_turns":
            turn.end("max_turn_requests")
        else:
            turn.fail(adapter_errors.turn_failed("claude", "; ".join(result.errors) or result.subtype))
    elif result.is_error:
        turn.fail(
            adapter_errors.turn_failed("claude", result.result, {"terminalReason": result.terminal_reason})
        )
    else:
        turn.end(_STOP_REASONS.get(result.stop_reason or "", "end_turn"))


def _environment() -> dict[str, str]:
    """Ours, with CLAUDE_API_KEY under the name Claude reads."""
    environment = dict(os.environ)
    if "CLAUDE_API_KEY" in environment:
        environment.setdefault("ANTHROPIC_API_KEY", environment["CLAUDE_API_KEY"])
    return environment


def _control(request: Message) -> Message:
    return {"type": "control_request", "request_id": str(uuid.uuid4()), "request": request}


def _garbage(line: str) -> Unparsed:
    return Unparsed("stdout", line[:4096], "claude wrote a line that is not JSON")


def _mcp_server(server: Any) -> tuple[str, Message]:
    if stdio := stdio_server(server):
        env = {variable.name: variable.value for variable in stdio.env}
        return stdio.name, {"command": stdio.command, "args": list(stdio.args), "env": env}
    if remote := remote_server(server):
        headers = {header.name: header.value for header in remote.headers}
        return remote.name, {"type": remote.type, "url": remote.url, "headers": headers}
    raise adapter_errors.invalid("an MCP server of this kind cannot be passed on to claude")
