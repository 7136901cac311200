"""Amp: one process per turn, which continues its thread and reads the prompt from stdin.

The flags are read from `amp --help`; a run that ends before its first message is repeated with fewer flags.
Amp never asks for approval: a tool that needs it fails unless the mode is `bypass`. Newer versions run the
agent on Amp's server; a failure there gets an error of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import uuid

import msgspec
from acp import Client, RequestError

from sandbox_agent.agents.adapters.amp import amp_converter
from sandbox_agent.agents.adapters.amp.amp_flags import AmpFlags, AmpRequest, read_help
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json, timeouts
from sandbox_agent.agents.adapters.common.config_options import ConfigOption, ConfigOptions, ConfigValue
from sandbox_agent.agents.adapters.common.mcp_servers import McpServer, StdioMcpServer
from sandbox_agent.agents.adapters.common.native_agent import NativeAgent, NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess
from sandbox_agent.agents.adapters.common.native_turn import NativeTurn
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptImage, PromptPart, as_text

_THREAD = re.compile(r"T-[0-9a-f-]{36}")
_MODES = [
    ConfigValue("default", "Default", "Tools that need approval fail: Amp never asks"),
    ConfigValue("bypass", "Bypass", "Every tool runs"),
]
_LOGIN_WORDS = ("API key", "Login failed", "Unauthorized", "401")
_UNSUPPORTED_VERSION = (
    "this amp has neither `--execute --stream-json` nor `--print --output-format`, one of which the adapter "
    "needs; install the version of the catalogue"
)


class AmpAgent(NativeAgent):
    name = "amp"
    title = "Amp"
    lists_sessions = False

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self._flags: asyncio.Future[AmpFlags] | None = None
        self._processes: dict[str, NativeProcess] = {}
        self._threads: dict[str, str | None] = {}
        """The thread of each session; None until the first turn of a session has begun one."""

    async def open_session(self, cwd: str, mcp_servers: list[McpServer]) -> NativeSession:
        flags = await self._usable_flags()
        if flags.family == "print":
            # The first turn begins the thread.
            session_id = f"amp-{uuid.uuid4()}"
            self._threads[session_id] = None
            return self._session(session_id, cwd, mcp_servers, flags)
        try:
            printed = await self._run(["threads", "new"], cwd)
        except RequestError as error:
            raise _explain(flags, error) from error
        thread = _THREAD.search(printed)
        if thread is None:
            raise adapter_errors.turn_failed("amp", f"amp made no thread: {printed[-500:]}")
        return self._session(thread[0], cwd, mcp_servers, flags)

    async def continue_session(
        self, session_id: str, cwd: str, mcp_servers: list[McpServer], *, replay: bool
    ) -> NativeSession:
        if not _THREAD.fullmatch(session_id):
            raise adapter_errors.unknown_session(session_id)
        flags = await self._usable_flags()
        session = self._session(session_id, cwd, mcp_servers, flags)
        if replay and flags.family == "threads":
            await self._replay(session)
        return session

    async def run_turn(self, session: NativeSession, turn: NativeTurn, parts: list[PromptPart]) -> None:
        flags = await self._usable_flags()
        as_messages = flags.reads_messages and any(isinstance(part, PromptImage) for part in parts)
        prompt = _message(parts) if as_messages else as_text(parts, self.title).encode()
        choice = session.config.current("agent_mode") if flags.choices else None
        servers = {server.name: _mcp_config(server) for server in session.mcp_servers}
        wanted = AmpRequest(
            self._threads.get(session.id, session.id),
            bypass=session.config.current("mode") == "bypass",
            choice=None if choice == "default" else choice,
            mcp_config=json.dumps(servers) if servers else None,
            prompt=None if as_messages else prompt.decode(),
        )
        process: NativeProcess | None = None
        for words in flags.command_lines(wanted):
            process = await self._run_process(session, turn, words, prompt)
            if process is None:
                return
        if process is not None:
            raise _explain(flags, process.exit_error())

    async def stop_turn(self, session: NativeSession) -> None:
        if process := self._processes.get(session.id):
            await process.stop(grace_s=0)

    async def end_turn(self, session: NativeSession) -> None:
        if process := self._processes.pop(session.id, None):
            await process.stop()

    async def session_closed(self, session: NativeSession) -> None:
        self._threads.pop(session.id, None)

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop(grace_s=1) for process in list(self._processes.values())))

    def _session(self, thread: str, cwd: str, mcp_servers: list[McpServer], flags: AmpFlags) -> NativeSession:
        modes = _MODES if flags.allows_all else _MODES[:1]
        options = [ConfigOption("mode", "Mode", "default", modes, "mode")]
        if flags.choices:
            values = [
                ConfigValue("default", "Default"),
                *(ConfigValue(name, name.capitalize()) for name in flags.choices),
            ]
            name = "Agent mode" if flags.family == "threads" else "Model"
            options.append(ConfigOption("agent_mode", name, "default", values, "model"))
        return NativeSession(thread, cwd, ConfigOptions(options), mcp_servers)

    async def _run_process(
        self, session: NativeSession, turn: NativeTurn, words: list[str], prompt: bytes
    ) -> NativeProcess | None:
        """Run one turn; returns the process if it ended before its first message."""
        received: list[Message] = []

        def on_message(message: Message) -> None:
            received.append(message)
            thread = message.get("session_id")
            if isinstance(thread, str) and self._threads.get(session.id, "") is None:
                self._threads[session.id] = thread
            self._handle(turn, message)

        process = await NativeProcess.start(
            "amp",
            [*self._command(), *words],
            cwd=session.cwd,
            env=os.environ,
            on_message=on_message,
            on_invalid_line=lambda line: turn.emit([self.invalid_line(line)]),
        )
        self._processes[session.id] = process
        process.write(prompt)
        process.close_input()
        if turn.is_cancelled:
            await process.stop(grace_s=0)
        await asyncio.shield(process.ended)
        if not received and not turn.is_cancelled:
            return process
        turn.fail(process.exit_error())  # No effect if the result has already ended the turn.
        return None

    def _handle(self, turn: NativeTurn, message: Message) -> None:
        turn.emit(amp_converter.convert(message))
        if message.get("type") != "result":
            return
        try:
            failure = amp_converter.read_failure(message)
        except msgspec.ValidationError as error:
            turn.fail(adapter_errors.unreadable_result("amp", error, message))
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
            await self.channel.send_updates(session.id, amp_converter.exported(message))

    def on_connect(self, conn: Client) -> None:
        super().on_connect(conn)
        # A start of Node.js, which need not wait for the first session.
        self._flags = asyncio.ensure_future(self._read_flags())
        self._flags.add_done_callback(lambda flags: flags.cancelled() or flags.exception())

    async def _usable_flags(self) -> AmpFlags:
        if self._flags is None or (self._flags.done() and self._flags.exception() is not None):
            self._flags = asyncio.ensure_future(self._read_flags())
        return await asyncio.shield(self._flags)

    async def _read_flags(self) -> AmpFlags:
        flags = read_help(await self._run(["--help"], os.getcwd()))
        if flags.family is None:
            raise adapter_errors.turn_failed("amp", _UNSUPPORTED_VERSION, sorted(flags.known))
        return flags

    async def _run(self, words: list[str], cwd: str) -> str:
        """The output of an amp command; raises a `RequestError` if it fails."""
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
        """npm's package is a Node.js script, which may not be executable itself."""
        if self.program.endswith((".js", ".mjs")):
            return [shutil.which("node") or "node", "--no-warnings", self.program]
        return [self.program]


def _explain(flags: AmpFlags, error: BaseException) -> BaseException:
    """The same error, or one that says what the user can do about it."""
    data = error.data if isinstance(error, RequestError) else None
    stderr = str(data.get("stderr") or "").strip() if isinstance(data, dict) else ""
    if not stderr:
        return error
    reason = stderr.splitlines()[-1]
    if any(word in stderr for word in _LOGIN_WORDS):
        return adapter_errors.turn_failed("amp", f"authentication: {reason}")
    return adapter_errors.vendor_server_failed("amp", reason, stderr) if flags.runs_on_server else error


def _message(parts: list[PromptPart]) -> bytes:
    blocks = [stream_json.user_block(part) for part in parts]
    return json.dumps({"type": "user", "message": {"role": "user", "content": blocks}}).encode() + b"\n"


def _mcp_config(server: McpServer) -> Message:
    if isinstance(server, StdioMcpServer):
        return server.command_config()
    return {"url": server.url, "headers": server.headers}
