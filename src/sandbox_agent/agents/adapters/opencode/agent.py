"""OpenCode: one `opencode serve` for all sessions of this process, prompts over HTTP, events over SSE.

A turn begins with `prompt_async` and ends with the session's `session.idle`; permissions and questions are
events and answered by requests. Subagents run in sessions of their own and are shown in that of the user.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import msgspec
from acp import RequestError
from acp.schema import PermissionOption, SessionInfo, ToolCallUpdate

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn
from sandbox_agent.agents.adapters.common.prompt import PromptPart, PromptText
from sandbox_agent.agents.adapters.common.questions import AnswerOption, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed
from sandbox_agent.agents.adapters.opencode import schema as native
from sandbox_agent.agents.adapters.opencode.events import OpenCodeConverter
from sandbox_agent.agents.adapters.opencode.server import OpenCodeServer

_REPLIES = [
    PermissionOption(option_id="once", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]
_IDLE_AFTER_ERROR_S = 5.0


class OpenCode(NativeAgent):
    name = "opencode"
    title = "OpenCode"

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._server = OpenCodeServer(program, self._garbage, self._ended)
        self._converters: dict[str, OpenCodeConverter] = {}
        self._listeners: dict[str, asyncio.Task[None]] = {}
        self._parents: dict[str, str] = {}
        """From the session of a subagent to the one that started it."""
        self._errors: dict[str, RequestError] = {}
        self._background: set[asyncio.Task[None]] = set()

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        await self._listen(cwd)
        made = await self._server.call("POST", "/session", directory=cwd, body={})
        return await self._joined(msgspec.convert(made, native.Session).id, cwd, mcp_servers)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        await self._server.call("GET", f"/session/{session_id}", directory=cwd)
        await self._listen(cwd)
        session = await self._joined(session_id, cwd, mcp_servers)
        if replay:
            history = await self._server.call("GET", f"/session/{session_id}/message", directory=cwd)
            for message in history:
                await self.channel.send_updates(session_id, self._converters[session_id].stored(message))
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        await self._listen(session.cwd)
        body: dict[str, Any] = {"parts": [_part(part) for part in parts]}
        provider, _, model = session.config.current("model").partition("/")
        if model:
            body["model"] = {"providerID": provider, "modelID": model}
        body["agent"] = session.config.current("mode")
        path = f"/session/{session.id}/prompt_async"
        await self._server.call("POST", path, directory=session.cwd, body=body)

    async def stop_turn(self, session: NativeSession) -> None:
        await self._server.call("POST", f"/session/{session.id}/abort", directory=session.cwd)

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

    # -- sessions

    async def _joined(self, session_id: str, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        for server in mcp_servers:
            await self._server.call("POST", "/mcp", directory=cwd, body=_mcp_server(server))
        providers = await self._server.call("GET", "/config/providers", directory=cwd)
        agents = await self._server.call("GET", "/agent", directory=cwd)
        settings = ConfigOptions([_modes(agents), _models(providers)])
        self._converters[session_id] = OpenCodeConverter()
        return NativeSession(session_id, cwd, settings, mcp_servers)

    async def _listen(self, directory: str) -> None:
        """Follow the events of a directory; returns when the stream stands."""
        listener = self._listeners.get(directory)
        if listener is not None and not listener.done():
            return
        standing, limit_s = asyncio.Event(), 2 * timeouts.answer_s()  # the server may have to start first
        listener = asyncio.create_task(self._follow(directory, standing))
        self._listeners[directory] = listener
        ready = asyncio.create_task(standing.wait())
        await asyncio.wait([listener, ready], timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if listener.done() and (error := listener.exception()) is not None:
            raise error
        if not standing.is_set():
            listener.cancel()
            raise adapter_errors.program_silent("opencode", "its events", limit_s)

    async def _follow(self, directory: str, standing: asyncio.Event) -> None:
        try:
            async for event in self._server.events(directory):
                standing.set()
                self._take(event)
        except Exception as error:
            self._ended(error)
            if not standing.is_set():
                raise

    # -- what the server says

    def _take(self, event: Message) -> None:
        kind, properties = str(event.get("type")), event.get("properties") or {}
        if kind == "session.created" and (parent := (properties.get("info") or {}).get("parentID")):
            self._parents[properties["info"]["id"]] = parent
        session = self._session_of(properties)
        if session is None:
            self._outside(event)
        elif kind in ("permission.asked", "question.asked"):
            self._soon(self._asked(session, kind, event))
        elif session.turn is None:
            output = self._converters[session.id].event(event)
            self._soon(self.channel.send_updates(session.id, output))
        else:
            session.turn.emit(self._converters[session.id].event(event))
            if properties.get("sessionID") == session.id:
                self._turn_event(session, session.turn, kind, properties)

    def _session_of(self, properties: Message) -> NativeSession | None:
        session_id = str(properties.get("sessionID"))
        while session_id in self._parents:
            session_id = self._parents[session_id]
        return self.sessions.get(session_id)

    def _outside(self, event: Message) -> None:
        properties = event.get("properties") or {}
        if "sessionID" in properties:
            return  # a session of somebody else in the same directory
        for item in OpenCodeConverter().event(event):
            if isinstance(item, Unparsed):
                self._soon(self.channel.notify_unparsed(None, item))

    def _turn_event(self, session: NativeSession, turn: NativeTurn, kind: str, properties: Message) -> None:
        """`session.idle` is the end of a turn, also of one that failed: an error comes before it."""
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

    async def end_turn(self, session: NativeSession) -> None:
        self._errors.pop(session.id, None)

    async def _asked(self, session: NativeSession, kind: str, event: Message) -> None:
        properties = event["properties"]
        try:
            if kind == "permission.asked":
                await self._permission(session, msgspec.convert(properties, native.PermissionRequest))
            else:
                await self._question(session, msgspec.convert(properties, native.QuestionRequest))
        except (RequestError, msgspec.ValidationError) as error:
            # Unanswered it would wait for ever.
            await self.channel.notify_unparsed(session.id, Unparsed(kind, event, str(error)))
            if session.turn is not None:
                session.turn.fail(
                    adapter_errors.turn_failed("opencode", f"{kind} cannot be answered: {error}", event)
                )

    async def _permission(self, session: NativeSession, request: native.PermissionRequest) -> None:
        call_id = (request.tool or {}).get("callID") or request.id
        command = request.metadata.get("command") or request.metadata.get("filepath")
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=f"{request.permission}: {command or ', '.join(request.patterns)}",
            kind="execute" if request.permission == "bash" else "other",
            raw_input=request.metadata,
        )
        reply = await self.channel.request_permission(session.id, call, _REPLIES) or "reject"
        path = f"/permission/{request.id}/reply"
        await self._server.call("POST", path, directory=session.cwd, body={"reply": reply})

    async def _question(self, session: NativeSession, request: native.QuestionRequest) -> None:
        call_id = request.tool.get("callID") if isinstance(request.tool, dict) else None
        questions = [
            Question(
                text=question.question,
                header=question.header,
                choices=tuple(AnswerOption(option.label, option.description) for option in question.options),
                multiple=bool(question.multiple),
                custom=question.custom is not False,
            )
            for question in request.questions
        ]
        answers = await self.channel.ask_questions(session.id, questions, call_id)
        path = f"/question/{request.id}"
        if answers is None:
            await self._server.call("POST", f"{path}/reject", directory=session.cwd)
        else:
            body = {"answers": answers}
            await self._server.call("POST", f"{path}/reply", directory=session.cwd, body=body)

    def _garbage(self, line: str) -> None:
        # Its log; only what looks like news would be of use, and stderr is kept for that.
        item = Unparsed("stdout", line[:4096], "opencode wrote a line nobody expects")
        self._soon(self.channel.notify_unparsed(None, item))

    def _ended(self, error: Exception) -> None:
        for session in self.sessions.values():
            if session.turn is not None:
                session.turn.fail(error)

    def _soon(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _modes(agents: list[Message]) -> ConfigOption:
    primary = [agent for agent in agents if agent.get("mode") != "subagent" and not agent.get("hidden")]
    values = [
        ConfigValue(str(agent["name"]), str(agent["name"]).capitalize(), str(agent.get("description") or ""))
        for agent in primary
    ]
    names = [value.id for value in values]
    return ConfigOption("mode", "Mode", "build" if "build" in names or not names else names[0], values, "mode")


def _models(providers: Message) -> ConfigOption:
    values = [
        ConfigValue(f"{provider['id']}/{model_id}", str(model.get("name") or model_id))
        for provider in providers.get("providers") or []
        for model_id, model in (provider.get("models") or {}).items()
    ]
    defaults = [f"{provider}/{model}" for provider, model in (providers.get("default") or {}).items()]
    known = [value.id for value in values]
    current = next((model for model in defaults if model in known), known[0] if known else "")
    return ConfigOption("model", "Model", current, values, "model")


def _part(part: PromptPart) -> Message:
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    url = f"data:{part.mime_type};base64,{part.data}"
    return {"type": "file", "mime": part.mime_type, "url": url}


def _mcp_server(server: Any) -> Message:
    if stdio := stdio_server(server):
        env = {variable.name: variable.value for variable in stdio.env}
        config: Message = {"type": "local", "command": [stdio.command, *stdio.args], "environment": env}
        return {"name": stdio.name, "config": config | {"enabled": True}}
    if remote := remote_server(server):
        headers = {header.name: header.value for header in remote.headers}
        config = {"type": "remote", "url": remote.url, "headers": headers, "enabled": True}
        return {"name": remote.name, "config": config}
    raise adapter_errors.invalid_params("an MCP server of this kind cannot be passed on to opencode")
