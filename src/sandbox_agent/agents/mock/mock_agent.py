"""The main loop: one thread that reads lines, runs turns and writes their output.

It waits only for stdin and timers, so requests are served while other turns wait for permissions or answers.
`run` returns the exit code when the input ends or a script exits.
"""

from __future__ import annotations

import select
from typing import Any

from sandbox_agent.agents.mock.acp_methods import AcpMethods
from sandbox_agent.agents.mock.client_link import ClientLink
from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError, LineInput, LineOutput, parse_message
from sandbox_agent.agents.mock.mock_sessions import SessionStore
from sandbox_agent.agents.mock.scripts.script_steps import ClientReply
from sandbox_agent.agents.mock.transcript_directory import TranscriptDirectory, state_directory
from sandbox_agent.agents.mock.turn_scheduler import TurnScheduler
from sandbox_agent.jsonrpc_error_codes import INVALID_PARAMS, INVALID_REQUEST


class MockAgent:
    """A scripted ACP agent between one input and one output."""

    def __init__(self, lines: LineInput, output: LineOutput) -> None:
        self._lines = lines
        self._output = output
        self._sessions = SessionStore(TranscriptDirectory(state_directory()))
        link = ClientLink(output)
        self._turns = TurnScheduler(output, link, self._sessions)
        self._methods = AcpMethods(link, self._sessions, self._turns)

    def run(self) -> int:
        """Serve until the input ends or a script exits; return the exit code."""
        while True:
            self._turns.run_slice()
            wait_s = self._turns.wait_s()
            if wait_s != 0.0 or self._turns.exit_code is not None:
                self._sessions.save()  # Before the output: what a client has seen can be loaded again.
                self._output.flush()
            if self._turns.exit_code is not None:
                return self._turns.exit_code
            watched = [self._lines.fd] if self._turns.reading else []
            if not select.select(watched, [], [], wait_s)[0]:
                continue
            lines = self._lines.read_lines()
            if lines is None:
                self._sessions.save()
                self._output.flush()
                return 0
            for line in lines:
                if line.strip():
                    self._receive(line)

    def _receive(self, line: bytes) -> None:
        try:
            message = parse_message(line)
        except JsonRpcError as error:
            self._answer(None, error=error)
            return
        method = message.get("method")
        if isinstance(method, str):
            self._handle_call(message, method)
        elif "id" in message and ("result" in message or "error" in message):
            self._turns.handle_reply(message["id"], ClientReply(message.get("result"), message.get("error")))
        else:
            problem = JsonRpcError(INVALID_REQUEST, "Invalid request", {"detail": "no method and no result"})
            self._answer(message.get("id"), error=problem)

    def _handle_call(self, message: Json, method: str) -> None:
        params = message.get("params", {})
        if "id" not in message:
            if isinstance(params, dict):
                self._methods.notify(method, params)
            return
        request_id = message["id"]
        try:
            if not isinstance(params, dict):
                raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "params must be an object"})
            result = self._methods.call(request_id, method, params)
        except JsonRpcError as error:
            self._answer(request_id, error=error)
            return
        if result is not None:
            self._answer(request_id, result=result)

    def _answer(self, request_id: Any, result: Json | None = None, error: JsonRpcError | None = None) -> None:
        answer: Json = {"jsonrpc": "2.0", "id": request_id}
        if error is not None:
            answer["error"] = error.as_json()
        else:
            answer["result"] = result
        self._output.send(answer)
