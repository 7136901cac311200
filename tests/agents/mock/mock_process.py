"""A mock agent process with a client on its pipes, for the tests of the mock agent.

Every message is checked against the ACP schema of the installed `acp` package when it arrives, so each test
is a schema test too. Every wait is bounded.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import TypeAdapter

Json = dict[str, Any]
Start = Callable[..., "MockProcess"]
WAIT_S = 20.0

PNG = "iVBORw0KGgo="

RESULTS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/delete": schema.DeleteSessionResponse,
    "logout": schema.LogoutResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "session/prompt": schema.PromptResponse,
}
FROM_AGENT: dict[str, Any] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "elicitation/create": schema.CreateFormSessionElicitationRequest,
    "terminal/create": schema.CreateTerminalRequest,
    "terminal/output": schema.TerminalOutputRequest,
    "terminal/wait_for_exit": schema.WaitForTerminalExitRequest,
    "terminal/release": schema.ReleaseTerminalRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "$/cancel_request": schema.CancelRequestNotification,
}


def check(model: Any, value: Json) -> None:
    """Validate, and make sure the schema knows every key: a misspelt one would pass as an extra."""
    parsed = TypeAdapter(model).validate_python(value)
    known = TypeAdapter(model).dump_python(parsed, mode="json", by_alias=True, exclude_unset=True)
    assert_same_keys(value, known)


def assert_same_keys(sent: Any, known: Any) -> None:
    if isinstance(sent, dict) and isinstance(known, dict):
        assert set(sent) == set(known)
        for key in sent:
            assert_same_keys(sent[key], known[key])
    elif isinstance(sent, list) and isinstance(known, list):
        for one, other in zip(sent, known, strict=True):
            assert_same_keys(one, other)


class MockProcess:
    """The process and a minimal client."""

    def __init__(self, state: Path, capabilities: Json | None = None) -> None:
        environment = {**os.environ, "SANDBOX_AGENT_MOCK_STATE": str(state)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sandbox_agent.agents.mock"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        # Bounded: a flood stays in the pipe until the messages before it have been checked.
        self._lines: queue.Queue[bytes | None] = queue.Queue(maxsize=2000)
        self._closing = False
        self._stderr: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._last_id = 0
        self._methods: dict[Any, str] = {}
        self.garbage: list[bytes] = []
        self.messages: list[Json] = []
        if capabilities is not None:
            self.call("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        while not self._closing:
            try:
                self._lines.put(line, timeout=0.1)
                return
            except queue.Full:
                continue

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        while data := os.read(self.process.stderr.fileno(), 1 << 16):
            self._stderr.append(data)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Json) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def start(self, method: str, params: Json) -> int:
        """Send a request without waiting; its id."""
        self._last_id += 1
        self._methods[self._last_id] = method
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def start_prompt(self, session_id: str, text: str, *blocks: Json) -> int:
        content = [{"type": "text", "text": text}, *blocks]
        return self.start("session/prompt", {"sessionId": session_id, "prompt": content})

    def receive(self) -> Json | None:
        """The next message, checked against the schema; None when the process closed its output."""
        line = self._lines.get(timeout=WAIT_S)
        if line is None:
            return None
        try:
            message = json.loads(line)
        except ValueError:
            self.garbage.append(line)
            return self.receive()
        assert isinstance(message, dict)
        self._check(message)
        self.messages.append(message)
        return message

    def _check(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            if message["method"] in FROM_AGENT:
                check(FROM_AGENT[message["method"]], message["params"])
            else:
                assert message["method"].startswith("_sandboxagent/")
        elif "result" in message:
            check(RESULTS[self._methods[message["id"]]], message["result"])
        else:
            check(schema.Error, message["error"])

    def until(self, **wanted: Any) -> Json:
        """The next message with these values at the top level; those before it are kept in `messages`."""
        while (message := self.receive()) is not None:
            if all(message.get(key) == value for key, value in wanted.items()):
                return message
        raise AssertionError(f"the output ended before {wanted}; stderr: {self.stderr()!r}")

    def answer(self, request_id: int) -> Json:
        """The answer to a request of the test."""
        while True:
            message = self.until(id=request_id)
            if "method" not in message:
                return message

    def call(self, method: str, params: Json) -> Json:
        """The result of a request."""
        answer = self.answer(self.start(method, params))
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def failure(self, method: str, params: Json) -> int:
        """The error code of a request."""
        answer = self.answer(self.start(method, params))
        assert "error" in answer, answer
        code: int = answer["error"]["code"]
        return code

    def new_session(self, cwd: str = "/project") -> str:
        session_id: str = self.call("session/new", {"cwd": cwd, "mcpServers": []})["sessionId"]
        return session_id

    def prompt(self, session_id: str, text: str, *blocks: Json) -> Json:
        """A prompt's result, for prompts that ask nothing."""
        answer = self.answer(self.start_prompt(session_id, text, *blocks))
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def reply(self, request: Json, result: Json) -> None:
        self.send({"id": request["id"], "result": result})

    def updates(self, kind: str | None = None) -> list[Json]:
        """The session updates received so far."""
        found = [m["params"]["update"] for m in self.messages if m.get("method") == "session/update"]
        return [update for update in found if kind in (None, update["sessionUpdate"])]

    def said(self) -> str:
        """All text of agent messages so far."""
        chunks = self.updates("agent_message_chunk")
        return "".join(chunk["content"].get("text", "") for chunk in chunks)

    def stderr(self) -> bytes:
        return b"".join(self._stderr)

    def wait(self) -> int:
        """The exit code, once the process has left."""
        code = self.process.wait(WAIT_S)
        for thread in self._threads:
            thread.join(WAIT_S)
        return code

    def end_input(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait()

    def close(self) -> None:
        self._closing = True
        self.process.kill()
        self.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue


@contextmanager
def mock_processes(state: Path) -> Iterator[Start]:
    """A function that starts mock agents which share a state directory; all are gone at the end."""
    running: list[MockProcess] = []

    def start(capabilities: Json | None = None, state: Path = state) -> MockProcess:
        running.append(MockProcess(state, capabilities))
        return running[-1]

    try:
        yield start
    finally:
        for process in running:
            process.close()
