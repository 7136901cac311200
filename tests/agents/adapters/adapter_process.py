"""One adapter on stdin and stdout, as the server runs it, driven by a test. Every wait is bounded."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

WAIT_S = 60.0
Json = dict[str, Any]
Policy = Callable[[Json], Json | None]


class AdapterProcess:
    """Use as an async context manager; leaving it closes the adapter's input and waits for its end."""

    def __init__(self, name: str, program: Path, cwd: Path, env: Mapping[str, str]) -> None:
        self._argv = [sys.executable, "-m", "sandbox_agent", "adapter", name, "--program", str(program)]
        self._cwd, self._env = cwd, {**os.environ, **env}
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._news = asyncio.Condition()
        self.messages: list[Json] = []
        self.log: list[tuple[Literal["client", "agent"], Json]] = []
        """Who sent what."""
        self.policies: dict[str, Policy] = {}

    async def __aenter__(self) -> AdapterProcess:
        self.process = await asyncio.create_subprocess_exec(
            *self._argv,
            cwd=self._cwd,
            env=self._env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), WAIT_S)
        finally:
            if self.process.returncode is None:
                self.process.kill()
            await self._reader

    async def call(self, method: str, **params: Any) -> Json:
        """The answer, with `result` or `error`."""
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return await asyncio.wait_for(future, WAIT_S)

    async def begin(self, capabilities: Json | None = None) -> str:
        """Initialize and open a session; its id."""
        await self.call("initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        answer = await self.call("session/new", cwd=str(self._cwd), mcpServers=[])
        assert "result" in answer, answer
        session: str = answer["result"]["sessionId"]
        return session

    async def prompt(self, session: str, text: str) -> Json:
        return await self.call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def notify(self, method: str, **params: Any) -> None:
        self._send({"method": method, "params": params})

    def respond(self, request: Json, result: Json) -> None:
        """Answer a request of the agent that no policy has answered."""
        self._send({"id": request["id"], "result": result})

    def params(self, method: str) -> list[Json]:
        """Of every message of that method so far."""
        return [message["params"] for message in self.messages if message.get("method") == method]

    def modes(self) -> list[str]:
        """The modes the agent has said it is in."""
        updates = [params["update"] for params in self.params("session/update")]
        return [u["currentModeId"] for u in updates if u["sessionUpdate"] == "current_mode_update"]

    async def wait_for(self, fits: Callable[[Json], bool]) -> Json:
        async def found() -> Json:
            async with self._news:
                while not (fitting := [message for message in self.messages if fits(message)]):
                    await self._news.wait()
                return fitting[0]

        return await asyncio.wait_for(found(), WAIT_S)

    def _send(self, message: Json) -> None:
        assert self.process.stdin is not None
        whole = {"jsonrpc": "2.0", **message}
        self.log.append(("client", whole))
        self.process.stdin.write(json.dumps(whole).encode() + b"\n")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            async with self._news:
                self.messages.append(message)
                self.log.append(("agent", message))
                self._news.notify_all()
            if "method" not in message:
                self._waiting.pop(message["id"]).set_result(message)
            elif "id" in message:
                self._answer(message)

    def _answer(self, message: Json) -> None:
        policy = self.policies.get(message["method"])
        if policy is None:
            self._send({"id": message["id"], "error": {"code": -32601, "message": "not served here"}})
        elif (result := policy(message["params"])) is not None:
            self.respond(message, result)
