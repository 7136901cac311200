"""`sandbox-agent acp` as an editor sees it: a process with messages on stdin and stdout."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.processes import MARK_VARIABLE, marked
from tests.support.server_process import bare_environment, place_launcher, scripted_launcher

LIMIT_S = 30.0
AGENT = "amp"


class Front:
    """Started by `start`; ended by `close`, or by the test."""

    def __init__(self, home: Path, *words: str, environment: dict[str, str] | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.mark = secrets.token_hex(8)
        self.words = words
        self.home = home
        self.environment = {
            **bare_environment(home),
            "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
            MARK_VARIABLE: self.mark,
            **(environment or {}),
        }
        self.lines: list[bytes] = []
        """Everything the editor got, in order."""
        self.errors = bytearray()
        self._news = asyncio.Condition()
        self._readers: list[asyncio.Task[None]] = []
        self.ended = False

    @classmethod
    async def local(cls, home: Path, *words: str) -> Front:
        """In front of the scripted agent on this machine."""
        place_launcher(home / "data", AGENT, scripted_launcher())
        return await cls(home, "--agent", AGENT, *words).start()

    async def start(self) -> Front:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "sandbox_agent",
            "acp",
            *self.words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment,
            cwd=self.home,
            limit=1 << 26,
        )
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._read_errors())]
        return self

    @property
    def pid(self) -> int:
        return self.process.pid

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            async with self._news:
                self.lines.append(line)
                self._news.notify_all()
        async with self._news:
            self.ended = True
            self._news.notify_all()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self.errors += data

    async def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(line + b"\n")
        await self.process.stdin.drain()

    async def request(self, request_id: Any, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request and wait for its answer."""
        await self.send({"id": request_id, "method": method, "params": params or {}})
        return await self.answer(request_id)

    async def answer(self, request_id: Any, limit_s: float = LIMIT_S) -> Any:
        def is_answer(message: dict[str, Any]) -> bool:
            return "method" not in message and message.get("id") == request_id

        return await self.wait_for(is_answer, f"an answer to {request_id}", limit_s)

    async def wait_for(
        self, condition: Callable[[dict[str, Any]], bool], what: str, limit_s: float = LIMIT_S
    ) -> Any:
        """The first message so far, or from now on, that meets the condition."""
        seen = 0
        try:
            async with asyncio.timeout(limit_s), self._news:
                while True:
                    for line in self.lines[seen:]:
                        message = json.loads(line)
                        if condition(message):
                            return message
                    seen = len(self.lines)
                    if self.ended:
                        raise AssertionError(f"the front ended without {what}: {self}")
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"not within {limit_s} s: {what}; {self}") from None

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def wait(self, limit_s: float = LIMIT_S) -> int:
        """The exit code, when the process has ended and all its output is read."""
        async with asyncio.timeout(limit_s):
            code = await self.process.wait()
            await asyncio.gather(*self._readers)
        return code

    def left(self) -> dict[int, str]:
        """Living processes that this front has started on this machine."""
        return marked(self.mark)

    async def close(self) -> None:
        if self.process.returncode is None:
            self.process.kill()
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        await self.process.wait()
        with suppress(BrokenPipeError, ConnectionResetError):
            assert self.process.stdin is not None
            self.process.stdin.close()
            await self.process.stdin.wait_closed()
        transport: Any = self.process
        transport._transport.close()
        await asyncio.sleep(0)

    def __repr__(self) -> str:
        return f"got {self.lines[-5:]}, stderr {self.errors[-2000:].decode(errors='replace')}"


def token_file(directory: Path, token: str) -> str:
    path = directory / "token"
    path.write_text(token + "\n")
    os.chmod(path, 0o600)
    return str(path)
