"""Claude Code: one process per turn, continued with `--resume`; nothing runs between turns.

Permissions, AskUserQuestion and ExitPlanMode arrive on stdout and are answered on stdin
(`claude_user_requests.py`).
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid

import msgspec
from acp.schema import SessionInfo

from sandbox_agent.agents.adapters.claude import claude_transcripts
from sandbox_agent.agents.adapters.claude import schema as native
from sandbox_agent.agents.adapters.claude.claude_converter import ClaudeConverter, Result, read_result
from sandbox_agent.agents.adapters.claude.claude_user_requests import ClaudeUserRequests
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn, StopReason
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart

_MODES = [
    ConfigValue("default", "Default", "Asks before tools run"),
    ConfigValue("acceptEdits", "Accept edits", "Asks before commands run"),
    ConfigValue("plan", "Plan", "Plans first and asks for approval"),
    ConfigValue("dontAsk", "Don't ask", "Denies what is not allowed already"),
]
_BYPASS = ConfigValue("bypassPermissions", "Bypass permissions", "Never asks")
_MODELS = [ConfigValue(name, name.capitalize()) for name in ("default", "sonnet", "opus", "haiku")]
_STOP_REASONS: dict[str, StopReason] = {"max_tokens": "max_tokens", "refusal": "refusal"}


class ClaudeAgent(NativeAgent):
    name = "claude"
    title = "Claude Code"
    takes_changed_input = True

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._processes: dict[str, NativeProcess] = {}
        self._converters: dict[str, ClaudeConverter] = {}
        self._started: set[str] = set()
        """Sessions that Claude has stored: they are resumed, others are created."""
        self._requests: dict[str, ClaudeUserRequests] = {}

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        return self._register_session(str(uuid.uuid4()), cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        transcript = await asyncio.to_thread(claude_transcripts.find, session_id)
        if transcript is None:
            raise adapter_errors.unknown_session(session_id)
        session = self._register_session(session_id, cwd, mcp_servers)
        self._started.add(session_id)
        if replay:
            for line in await asyncio.to_thread(lambda: list(claude_transcripts.lines(transcript))):
                if line.get("type") in ("user", "assistant") and not line.get("isSidechain"):
                    await self.channel.send_updates(
                        session_id, self._converters[session_id].line(line, replay=True)
                    )
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        process = await NativeProcess.start(
            "claude",
            self._arguments(session),
            cwd=session.cwd,
            env=_environment(),
            on_message=lambda message: self._handle(session, turn, message),
            on_invalid_line=lambda line: turn.emit([self.invalid_line(line)]),
        )
        self._processes[session.id] = process
        self._requests[session.id] = ClaudeUserRequests(self.channel, session, process.send)
        process.ended.add_done_callback(lambda _: turn.fail(process.exit_error()))
        process.send(_control({"subtype": "initialize"}))
        content = [stream_json.user_block(part) for part in parts]
        message = {"role": "user", "content": content}
        process.send({"type": "user", "session_id": "", "parent_tool_use_id": None, "message": message})
        if turn.is_cancelled:
            await self.stop_turn(session)

    async def stop_turn(self, session: NativeSession) -> None:
        if process := self._processes.get(session.id):
            process.send(_control({"subtype": "interrupt"}))

    async def end_turn(self, session: NativeSession) -> None:
        if requests := self._requests.pop(session.id, None):
            requests.close()
        if process := self._processes.pop(session.id, None):
            await process.stop()

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        return await asyncio.to_thread(claude_transcripts.sessions, cwd)

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop(grace_s=1) for process in list(self._processes.values())))

    def _register_session(self, session_id: str, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        # As root, Claude refuses to bypass permissions unless IS_SANDBOX=1.
        may_bypass = os.geteuid() != 0 or os.environ.get("IS_SANDBOX") == "1"
        modes = [*_MODES, _BYPASS] if may_bypass else _MODES
        model = os.environ.get("ANTHROPIC_MODEL") or "default"
        models = (
            _MODELS if model in [value.id for value in _MODELS] else [*_MODELS, ConfigValue(model, model)]
        )
        self._converters[session_id] = ClaudeConverter()
        options = [
            ConfigOption("mode", "Mode", "default", modes, "mode"),
            ConfigOption("model", "Model", model, models, "model"),
        ]
        return NativeSession(session_id, cwd, ConfigOptions(options), mcp_servers)

    def _arguments(self, session: NativeSession) -> list[str]:
        words = "--print --output-format stream-json --input-format stream-json --verbose"
        words += " --include-partial-messages --permission-prompt-tool stdio"
        session_flag = "--resume" if session.id in self._started else "--session-id"
        arguments = [self.program, *words.split(), session_flag, session.id]
        arguments += ["--permission-mode", session.config.current("mode")]
        if (model := session.config.current("model")) != "default":
            arguments += ["--model", model]
        if session.mcp_servers:
            servers = {server.name: _mcp_config(server) for server in session.mcp_servers}
            arguments += ["--mcp-config", json.dumps({"mcpServers": servers})]
        return arguments

    # -- messages of Claude

    def _handle(self, session: NativeSession, turn: NativeTurn, message: Message) -> None:
        kind = message.get("type")
        mode = message.get("permissionMode") if message.get("subtype") == "status" else None
        if mode is not None and mode == session.config.current("mode"):
            return  # The client already got this mode when it was selected.
        turn.emit(self._converters[session.id].line(message))
        if mode is not None:
            # Claude changed the mode itself, as EnterPlanMode does.
            session.config["mode"].current = str(mode)
            turn.emit([session.config.update()])
        if requests := self._requests.get(session.id):
            requests.handle(message)
        if kind == "system" and message.get("subtype") == "init":
            self._started.add(session.id)
        elif kind == "control_response":
            self._update_models(session, turn, message)
        elif kind == "result":
            try:
                _end(turn, read_result(message))
            except msgspec.ValidationError as error:
                turn.fail(adapter_errors.unreadable_result("claude", error, message))

    def _update_models(self, session: NativeSession, turn: NativeTurn, message: Message) -> None:
        """The answer to `initialize` lists the models of this account."""
        try:
            answer = msgspec.convert(message["response"]["response"], native.SDKControlInitializeResponse)
        except (KeyError, TypeError, msgspec.ValidationError):
            return
        option = session.config["model"]
        values = [ConfigValue(model.value, model.display_name, model.description) for model in answer.models]
        if option.current not in [value.id for value in values]:
            values.append(ConfigValue(option.current, option.current))
        if values != option.values:
            option.values = values
            turn.emit([session.config.update()])


def _end(turn: NativeTurn, result: Result) -> None:
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
    """The adapter's environment, with CLAUDE_API_KEY under the name that Claude reads."""
    environment = dict(os.environ)
    if "CLAUDE_API_KEY" in environment:
        environment.setdefault("ANTHROPIC_API_KEY", environment["CLAUDE_API_KEY"])
    return environment


def _control(request: Message) -> Message:
    return {"type": "control_request", "request_id": str(uuid.uuid4()), "request": request}


def _mcp_config(server: McpServer) -> Message:
    if isinstance(server, StdioMcpServer):
        return server.command_config()
    return {"type": server.type, "url": server.url, "headers": server.headers}
