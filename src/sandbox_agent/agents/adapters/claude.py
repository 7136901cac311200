"""Claude Code: a process per turn in host mode, continued with `--resume`.

Permissions, AskUserQuestion and ExitPlanMode come as control requests on stdout and are answered on stdin:
`allow` with the (updated) input, or `deny`. Nothing runs between turns.
"""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from typing import Any

import msgspec
from acp import RequestError
from acp.schema import PermissionOption, SessionInfo, ToolCallUpdate

from sandbox_agent.agents.adapters import claude_transcripts, faults, stream_json, updates
from sandbox_agent.agents.adapters.claude_events import (
    ClaudeConverter,
    Result,
    read_permission,
    read_result,
)
from sandbox_agent.agents.adapters.native_agent import (
    McpServers,
    NativeAgent,
    Session,
    remote_server,
    stdio_server,
)
from sandbox_agent.agents.adapters.native_process import Message, NativeProcess
from sandbox_agent.agents.adapters.options import Setting, Settings, Value
from sandbox_agent.agents.adapters.prompt import Picture, Text
from sandbox_agent.agents.adapters.questions import Choice, Question
from sandbox_agent.agents.adapters.schemas import claude as native
from sandbox_agent.agents.adapters.turn import StopReason, Turn
from sandbox_agent.agents.adapters.updates import Unparsed

_MODES = [
    Value("default", "Default", "Asks before tools run"),
    Value("acceptEdits", "Accept edits", "Asks before commands run"),
    Value("plan", "Plan", "Plans first and asks for approval"),
    Value("dontAsk", "Don't ask", "Denies what is not allowed already"),
]
_BYPASS = Value("bypassPermissions", "Bypass permissions", "Never asks")
_MODELS = [Value(name, name.capitalize()) for name in ("default", "sonnet", "opus", "haiku")]
_ALLOW = PermissionOption(option_id="allow", name="Allow once", kind="allow_once")
_ALWAYS = PermissionOption(option_id="always", name="Always allow", kind="allow_always")
_REJECT = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
_PLAN_OPTIONS = [
    PermissionOption(option_id="default", name="Yes, and ask before edits", kind="allow_once"),
    PermissionOption(option_id="acceptEdits", name="Yes, and accept edits", kind="allow_always"),
    PermissionOption(option_id="reject", name="No, keep planning", kind="reject_once"),
]
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
        self._answering: dict[str, asyncio.Task[None]] = {}
        """Control requests that wait for the user, by their id."""

    async def open_session(self, cwd: str, mcp_servers: McpServers) -> Session:
        return self._session(str(uuid.uuid4()), cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: McpServers, *, replay: bool
    ) -> Session:
        transcript = await asyncio.to_thread(claude_transcripts.find, session_id)
        if transcript is None:
            raise faults.unknown_session(session_id)
        session = self._session(session_id, cwd, mcp_servers)
        self._begun.add(session_id)
        if replay:
            for line in await asyncio.to_thread(lambda: list(claude_transcripts.lines(transcript))):
                if line.get("type") in ("user", "assistant") and not line.get("isSidechain"):
                    await self.desk.send(session_id, self._converters[session_id].line(line, replay=True))
        return session

    async def run_turn(self, session: Session, turn: Turn, parts: list[Text | Picture]) -> None:
        process = await NativeProcess.start(
            "claude",
            self._arguments(session),
            cwd=session.cwd,
            env=_environment(),
            on_message=lambda message: self._take(session, turn, process, message),
            on_garbage=lambda line: turn.emit([_garbage(line)]),
        )
        self._processes[session.id] = process
        process.ended.add_done_callback(lambda _: turn.fail(process.fault()))
        process.send(_control({"subtype": "initialize"}))
        content = [_block(part) for part in parts]
        message = {"role": "user", "content": content}
        process.send({"type": "user", "session_id": "", "parent_tool_use_id": None, "message": message})
        if turn.is_cancelled:
            await self.stop_turn(session)

    async def stop_turn(self, session: Session) -> None:
        if process := self._processes.get(session.id):
            process.send(_control({"subtype": "interrupt"}))

    async def end_turn(self, session: Session) -> None:
        if process := self._processes.pop(session.id, None):
            await process.stop()

    async def known_sessions(self, cwd: str | None) -> list[SessionInfo]:
        return await asyncio.to_thread(claude_transcripts.sessions, cwd)

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

    def _take(self, session: Session, turn: Turn, process: NativeProcess, message: Message) -> None:
        kind = message.get("type")
        mode = message.get("permissionMode") if message.get("subtype") == "status" else None
        if mode is not None and mode == session.settings.current("mode"):
            return  # said when it was chosen
        turn.emit(self._converters[session.id].line(message))
        if mode is not None:
            # Claude has changed it by itself, as EnterPlanMode does.
            session.settings["mode"].current = str(mode)
            turn.emit([session.settings.update()])
        if kind == "system" and message.get("subtype") == "init":
            self._begun.add(session.id)
        elif kind == "control_request":
            number = str(message.get("request_id"))
            task = self._answering[number] = asyncio.create_task(self._answer(session, process, message))
            task.add_done_callback(lambda _: self._answering.pop(number, None))
        elif kind == "control_cancel_request":
            # Claude no longer wants to know, as after an interrupt.
            if asking := self._answering.get(str(message.get("request_id"))):
                asking.cancel()
        elif kind == "control_response":
            self._learn(session, turn, message)
        elif kind == "result":
            try:
                _end(turn, read_result(message))
            except msgspec.ValidationError as error:
                turn.fail(
                    faults.turn_failed("claude", f"the end of the turn cannot be read: {error}", message)
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

    async def _answer(self, session: Session, process: NativeProcess, message: Message) -> None:
        request = message.get("request") or {}
        number = message.get("request_id")
        response: dict[str, Any] = {"subtype": "success", "request_id": number}
        try:
            if request.get("subtype") != "can_use_tool":
                raise faults.invalid(f"{request.get('subtype')} is not served")
            response["response"] = await self._may_use(session, read_permission(request))
        except (RequestError, msgspec.ValidationError) as error:
            await self.desk.unparsed(session.id, Unparsed("control_request", message, str(error)))
            response |= {"subtype": "error", "error": str(error)}
        process.send({"type": "control_response", "response": response})

    async def _may_use(self, session: Session, request: native.SDKControlPermissionRequest) -> Message:
        if request.tool_name == "AskUserQuestion":
            return await self._questions(session, request)
        if request.tool_name == "ExitPlanMode":
            return await self._plan(session, request)
        options = [_ALLOW, _ALWAYS, _REJECT] if request.permission_suggestions else [_ALLOW, _REJECT]
        chosen = await self.desk.permission(session.id, _call(request), options)
        if chosen == "allow":
            return {"behavior": "allow", "updatedInput": request.input}
        if chosen == "always":
            granted = request.permission_suggestions
            return {"behavior": "allow", "updatedInput": request.input, "updatedPermissions": granted}
        return _deny("The user refused permission to run this tool.", interrupt=chosen is None)

    async def _plan(self, session: Session, request: native.SDKControlPermissionRequest) -> Message:
        call = _call(request)
        if isinstance(plan := request.input.get("plan"), str):
            call.content = [updates.text_content(plan)]
        chosen = await self.desk.permission(session.id, call, _PLAN_OPTIONS)
        if chosen not in ("default", "acceptEdits"):
            return _deny("The user did not approve the plan.", interrupt=chosen is None)
        session.settings["mode"].choose(chosen)
        await self.desk.send(session.id, [updates.mode(chosen), session.settings.update()])
        new_mode = [{"type": "setMode", "mode": chosen, "destination": "session"}]
        return {"behavior": "allow", "updatedInput": request.input, "updatedPermissions": new_mode}

    async def _questions(self, session: Session, request: native.SDKControlPermissionRequest) -> Message:
        asked = [question for question in request.input.get("questions") or [] if isinstance(question, dict)]
        answers = await self.desk.questions(
            session.id, [_question(question) for question in asked], request.tool_use_id
        )
        if answers is None:
            return _deny("The user did not answer the questions.")
        texts = [str(question.get("question")) for question in asked]
        chosen = {text: ", ".join(labels) for text, labels in zip(texts, answers, strict=True)}
        return {"behavior": "allow", "updatedInput": request.input | {"answers": chosen}}


def _end(turn: Turn, result: Result) -> None:
    if isinstance(result, native.SDKResultError):
        if result.subtype == "error_max_turns":
            turn.end("max_turn_requests")
        else:
            turn.fail(faults.turn_failed("claude", "; ".join(result.errors) or result.subtype))
    elif result.is_error:
        turn.fail(faults.turn_failed("claude", result.result, {"terminalReason": result.terminal_reason}))
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


def _deny(message: str, *, interrupt: bool = False) -> Message:
    return {"behavior": "deny", "message": message, "interrupt": interrupt}


def _call(request: native.SDKControlPermissionRequest) -> ToolCallUpdate:
    return ToolCallUpdate(
        tool_call_id=request.tool_use_id,
        title=stream_json.title_of(request.tool_name, request.input),
        kind=stream_json.kind_of(request.tool_name),
        raw_input=request.input,
        content=stream_json.content_of(request.tool_name, request.input) or None,
    )


def _question(question: Message) -> Question:
    options = [option for option in question.get("options") or [] if isinstance(option, dict)]
    return Question(
        text=str(question.get("question")),
        header=str(question.get("header") or ""),
        choices=tuple(Choice(str(o.get("label")), str(o.get("description") or "")) for o in options),
        multiple=bool(question.get("multiSelect")),
    )


def _block(part: Text | Picture) -> Message:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    return {"type": "image", "source": source}


def _garbage(line: str) -> Unparsed:
    return Unparsed("stdout", line[:4096], "claude wrote a line that is not JSON")


def _mcp_server(server: Any) -> tuple[str, Message]:
    if stdio := stdio_server(server):
        env = {variable.name: variable.value for variable in stdio.env}
        return stdio.name, {"command": stdio.command, "args": list(stdio.args), "env": env}
    if remote := remote_server(server):
        headers = {header.name: header.value for header in remote.headers}
        return remote.name, {"type": remote.type, "url": remote.url, "headers": headers}
    raise faults.invalid("an MCP server of this kind cannot be passed on to claude")
