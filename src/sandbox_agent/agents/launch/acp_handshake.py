"""Talk a few ACP messages with an agent over its pipes: to see that an install works, to read its options.

This is not the bridge: it serves no client, keeps no log and refuses every request of the agent. The agent
and all its children are gone when the block ends, or this process.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from sandbox_agent.agents.launch.tagged_tree import TaggedTree
from sandbox_agent.bridge.launch_spec import LaunchSpec

_LINE_LIMIT = 64 * 1024 * 1024
_STDERR_TAIL = 8192
_METHOD_NOT_FOUND = -32601


class HandshakeFailed(Exception):
    """The agent did not answer as ACP wants; the text says how, `stderr` what the agent said itself."""

    def __init__(self, message: str, stderr: str = "", error: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.stderr = stderr
        self.error = error
        """The JSON-RPC error, if that was the answer."""


class Conversation:
    """The requests one can make; answers come in order of asking."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._next_id = 0
        self._stderr = bytearray()
        self._draining = asyncio.create_task(self._drain_stderr())

    async def initialize(self, limit_s: float) -> dict[str, Any]:
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        result = await self.request("initialize", params, limit_s)
        if not isinstance(result.get("protocolVersion"), int):
            raise HandshakeFailed("the answer to `initialize` has no protocolVersion", self.stderr)
        return result

    async def request(self, method: str, params: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        self._next_id += 1
        request_id = self._next_id
        try:
            async with asyncio.timeout(limit_s):
                await self._send({"id": request_id, "method": method, "params": params})
                return await self._answer(request_id, method)
        except TimeoutError:
            raise HandshakeFailed(f"no answer to `{method}` within {limit_s:.0f} s", self.stderr) from None
        except (ConnectionError, BrokenPipeError):
            raise HandshakeFailed(await self._how_it_ended(method), self.stderr) from None

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    async def _answer(self, request_id: int, method: str) -> dict[str, Any]:
        stdout = cast(asyncio.StreamReader, self._process.stdout)
        while line := await stdout.readline():
            with suppress(ValueError):
                message = json.loads(line)
                if not isinstance(message, dict):
                    continue
                if "method" in message:
                    if "id" in message:
                        refusal = {"code": _METHOD_NOT_FOUND, "message": "not served here"}
                        await self._send({"id": message["id"], "error": refusal})
                elif message.get("id") == request_id:
                    return self._result(message, method)
        raise HandshakeFailed(await self._how_it_ended(method), self.stderr)

    def _result(self, message: dict[str, Any], method: str) -> dict[str, Any]:
        error = message.get("error")
        if isinstance(error, dict):
            raise HandshakeFailed(f"`{method}` failed: {error.get('message')}", self.stderr, error)
        result = message.get("result")
        return result if isinstance(result, dict) else {}

    async def _how_it_ended(self, method: str) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                code = await self._process.wait()
                await self._draining
                how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
                return f"the agent ended ({how}) before it answered `{method}`"
        return f"the agent closed its output before it answered `{method}`"

    async def _send(self, message: Mapping[str, Any]) -> None:
        stdin = cast(asyncio.StreamWriter, self._process.stdin)
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await stdin.drain()

    async def _drain_stderr(self) -> None:
        stderr = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_TAIL]

    async def say_goodbye(self) -> None:
        """Close stdin and give the agent a second to end by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 1)

    async def end(self) -> None:
        """Collect the agent, whose tree has been killed."""
        await asyncio.shield(self._process.wait())
        self._draining.cancel()
        with suppress(asyncio.CancelledError):
            await self._draining


@asynccontextmanager
async def conversation(launch: LaunchSpec) -> AsyncIterator[Conversation]:
    """Start the agent for the block; raises `HandshakeFailed` if it cannot be started."""
    try:
        tree = TaggedTree()
    except OSError as error:
        raise HandshakeFailed(f"no process can be started: {error.strerror or error}") from error
    talk: Conversation | None = None
    try:
        talk = Conversation(await _start(launch, tree))
        yield talk
        await talk.say_goodbye()
    finally:
        await tree.end()
        if talk is not None:
            await talk.end()
        tree.bury()


async def _start(launch: LaunchSpec, tree: TaggedTree) -> asyncio.subprocess.Process:
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            cwd=launch.cwd,
            env={**launch.env, **tree.environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            start_new_session=True,
        )
    except OSError as error:
        raise HandshakeFailed(f"{launch.argv[0]} cannot be started: {error.strerror or error}") from error
    tree.adopt(process.pid)
    return process
