"""Amp: a process per turn that continues its thread; the prompt goes in by stdin.

Flags are read from `amp --help`; a run whose flags are refused is tried again with simpler ones. Amp asks
nobody: a tool that needs approval fails unless the mode is `bypass`. Newer versions run the agent on Amp's
server; when that does not work, the error says so.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from typing import Any

import msgspec
from acp import RequestError

from sandbox_agent.agents.adapters.amp import events
from sandbox_agent.agents.adapters.amp.flags import Flags, read_help, refuses_flags
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json, timeouts
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn
from sandbox_agent.agents.adapters.common.prompt import PromptImage, PromptText, as_text
from sandbox_agent.agents.adapters.common.updates import Unparsed

_THREAD = re.compile(r"T-[0-9a-f-]{36}")
_MODES = [
    ConfigValue("default", "Default", "Tools that need approval fail: Amp asks nobody here"),
    ConfigValue("bypass", "Bypass", "Every tool runs"),
]
_LOGIN_WORDS = ("API key", "Login failed", "Unauthorized", "401")
_TOO_DIFFERENT = (
    "this amp has no `--execute --stream-json`, which the adapter needs; install the version of the catalogue"
)


class Amp(NativeAgent):
    name = "amp"
    title = "Amp"
    lists_sessions = False

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._flags: Flags | None = None
        self._processes: dict[str, NativeProcess] = {}

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        # Together: each costs a start of Node.
        flags, printed = await asyncio.gather(
            self._usable_flags(), self._run(["threads", "new"], cwd), return_exceptions=True
        )
        if isinstance(flags, BaseException):
            raise flags
        if isinstance(printed, BaseException):
            raise _explained(flags, printed)
        thread = _THREAD.search(printed)
        if thread is None:
            raise adapter_errors.turn_failed("amp", f"amp made no thread: {printed[-500:]}")
        return self._session(thread[0], cwd, mcp_servers, flags)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        if not _THREAD.fullmatch(session_id):
            raise adapter_errors.unknown_session(session_id)
        session = self._session(session_id, cwd, mcp_servers, await self._usable_flags())
        if replay:
            await self._replay(session)
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        flags = await self._usable_flags()
        pictures = flags.takes_messages and any(isinstance(part, PromptImage) for part in parts)
        prompt = _message(parts) if pictures else as_text(parts, self.title).encode()
        mode = session.config.current("agent_mode") if flags.modes else None
        servers = dict(_mcp_server(server) for server in session.mcp_servers)
        runs = flags.runs(
            bypass=session.config.current("mode") == "bypass",
            mode=None if mode == "default" else mode,
            mcp_config=json.dumps(servers) if servers else None,
            messages=pictures,
        )
        for run in runs:
            process = await self._try(session, turn, run, prompt)
            if process is None:
                return
            if run == runs[-1] or not refuses_flags(process.stderr):
                raise _explained(flags, process.exit_error())

    async def stop_turn(self, session: NativeSession) -> None:
        if process := self._processes.get(session.id):
            await process.stop(grace_s=0)

    async def end_turn(self, session: NativeSession) -> None:
        if process := self._processes.pop(session.id, None):
            await process.stop()

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop(grace_s=1) for process in list(self._processes.values())))

    def _session(self, thread: str, cwd: str, mcp_servers: list[McpServer], flags: Flags) -> NativeSession:
        modes = _MODES if flags.allows_all else _MODES[:1]
        settings = [ConfigOption("mode", "Mode", "default", modes, "mode")]
        if flags.modes:
            values = [ConfigValue("default", "Default"), *(ConfigValue(name, name.capitalize()) for name in flags.modes)]
            settings.append(ConfigOption("agent_mode", "Agent mode", "default", values, "model"))
        return NativeSession(thread, cwd, ConfigOptions(settings), mcp_servers)

    async def _try(self, session: NativeSession, turn: NativeTurn, run: list[str], prompt: bytes) -> NativeProcess | None:
        """One run; the process if it ended before it said anything."""
        said: list[Message] = []

        def take(message: Message) -> None:
            said.append(message)
            self._take(turn, message)

        process = await NativeProcess.start(
            "amp",
            [*self._command(), "threads", "continue", session.id, *run],
            cwd=session.cwd,
            env=os.environ,
            on_message=take,
            on_invalid_line=lambda line: turn.emit([Unparsed("stdout", line[:4096], "amp wrote no JSON")]),
        )
        self._processes[session.id] = process
        process.write(prompt)
        process.close_input()
        if turn.is_cancelled:
            await process.stop(grace_s=0)
        await asyncio.shield(process.ended)
        if not said and not turn.is_cancelled:
            return process
        turn.fail(process.exit_error())  # of no effect when the result has ended the turn
        return None

    def _take(self, turn: NativeTurn, message: Message) -> None:
        turn.emit(events.convert(message))
        if message.get("type") != "result":
            return
        try:
            failure = events.read_failure(message)
        except msgspec.ValidationError as error:
            turn.fail(
                adapter_errors.turn_failed("amp", f"the end of the turn cannot be read: {error}", message)
            )
            return
        if failure is None:
            turn.end("end_turn")
        elif failure.subtype == "error_max_turns":
            turn.end("max_turn_requests")
        else:
            turn.fail(adapter_errors.turn_failed("amp", failure.error))

    async def _replay(self, session: NativeSession) -> None:
        printed = await self._run(["threads", "export", session.id], session.cwd)
        try:
            messages = json.loads(printed)["messages"]
        except (ValueError, KeyError, TypeError):
            raise adapter_errors.turn_failed("amp", f"amp exported no thread: {printed[-500:]}") from None
        for message in messages:
            await self.channel.send_updates(session.id, events.exported(message))

    async def _usable_flags(self) -> Flags:
        if self._flags is None:
            flags = read_help(await self._run(["--help"], os.getcwd()))
            if not flags.streams_json:
                raise adapter_errors.turn_failed("amp", _TOO_DIFFERENT, sorted(flags.known))
            self._flags = flags
        return self._flags

    async def _run(self, words: list[str], cwd: str) -> str:
        """What a command of amp prints; raises a `RequestError` if it fails."""
        lines: list[str] = []
        limit_s = timeouts.answer_s()
        process = await NativeProcess.start(
            "amp",
            [*self._command(), *words],
            cwd=cwd,
            env=os.environ,
            on_message=lambda message: lines.append(json.dumps(message)),
            on_invalid_line=lines.append,
        )
        process.close_input()
        try:
            code = await asyncio.wait_for(asyncio.shield(process.ended), limit_s)
        except TimeoutError:
            raise adapter_errors.program_silent("amp", " ".join(words), limit_s) from None
        finally:
            await process.stop(grace_s=0)
        if code != 0:
            raise process.exit_error()
        return "\n".join(lines)

    def _command(self) -> list[str]:
        """The npm package is a script for node; the file alone may not be executable."""
        if self.program.endswith((".js", ".mjs")):
            return [shutil.which("node") or "node", "--no-warnings", self.program]
        return [self.program]


def _explained(flags: Flags, error: BaseException) -> BaseException:
    """The end of a program in words that say what can be done about it."""
    data = error.data if isinstance(error, RequestError) else None
    said = str(data.get("stderr") or "").strip() if isinstance(data, dict) else ""
    if not said:
        return error
    reason = said.splitlines()[-1]
    if any(word in said for word in _LOGIN_WORDS):
        return adapter_errors.turn_failed("amp", f"authentication: {reason}")
    return adapter_errors.vendor_server_failed("amp", reason, said) if flags.runs_elsewhere else error


def _message(parts: list[PromptPart]) -> bytes:
    blocks = [stream_json.user_block(part) for part in parts]
    return json.dumps({"type": "user", "message": {"role": "user", "content": blocks}}).encode() + b"\n"


def _mcp_server(server: Any) -> tuple[str, Message]:
    if stdio := stdio_server(server):
        env = {variable.name: variable.value for variable in stdio.env}
        return stdio.name, {"command": stdio.command, "args": list(stdio.args), "env": env}
    if remote := remote_server(server):
        return remote.name, {"url": remote.url, "headers": {h.name: h.value for h in remote.headers}}
    raise adapter_errors.invalid_params("an MCP server of this kind cannot be passed on to amp")
