"""Start an agent and send it a few ACP requests: to verify an install, to read its session options.

Unlike the bridge it serves no client, keeps no log and refuses every request of the agent. The agent and all
its descendants are killed when the block ends, or when this process dies.
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
from sandbox_agent.bridge.process.limits import ProcessLimits
from sandbox_agent.jsonrpc_error_codes import AUTH_REQUIRED, METHOD_NOT_FOUND
from sandbox_agent.login_methods import key_login

_LINE_LIMIT = 64 * 1024 * 1024
_STDERR_TAIL = 8192


class ProbeFailed(Exception):
    """The agent did not answer as ACP requires; `stderr` is the end of its error output."""

    def __init__(self, message: str, stderr: str = "", error: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.stderr = stderr
        self.error = error
        """The JSON-RPC error, if the agent answered with one."""


class AcpProbe:
    """The connection to the agent; one request at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._next_id = 0
        self._stderr = bytearray()
        self._stderr_reader = asyncio.create_task(self._read_stderr())

    async def initialize(self, limit_s: float) -> dict[str, Any]:
        params = {"protocolVersion": 1, "clientCapabilities": {}}
        result = await self.request("initialize", params, limit_s)
        if not isinstance(result.get("protocolVersion"), int):
            raise ProbeFailed("the answer to `initialize` has no protocolVersion", self.stderr)
        return result

    async def new_session(
        self, initialized: Mapping[str, Any], directory: str, limit_s: float
    ) -> dict[str, Any]:
        """Open a session as the SDK does: if the agent wants a login, the API key is confirmed first."""
        params = {"cwd": directory, "mcpServers": []}
        try:
            return await self.request("session/new", params, limit_s)
        except ProbeFailed as failure:
            login = key_login(initialized)
            if login is None or failure.error is None or failure.error.get("code") != AUTH_REQUIRED:
                raise
        await self.request("authenticate", {"methodId": login}, limit_s)
        return await self.request("session/new", params, limit_s)

    async def request(self, method: str, params: Mapping[str, Any], limit_s: float) -> dict[str, Any]:
        self._next_id += 1
        request_id = self._next_id
        try:
            async with asyncio.timeout(limit_s):
                await self._send({"id": request_id, "method": method, "params": params})
                return await self._answer(request_id, method)
        except TimeoutError:
            raise ProbeFailed(f"no answer to `{method}` within {limit_s:.0f} s", self.stderr) from None
        except (ConnectionError, BrokenPipeError):
            raise ProbeFailed(await self._exit_reason(method), self.stderr) from None

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
                        refusal = {"code": METHOD_NOT_FOUND, "message": "not served here"}
                        await self._send({"id": message["id"], "error": refusal})
                elif message.get("id") == request_id:
                    return self._result(message, method)
        raise ProbeFailed(await self._exit_reason(method), self.stderr)

    def _result(self, message: dict[str, Any], method: str) -> dict[str, Any]:
        error = message.get("error")
        if isinstance(error, dict):
            raise ProbeFailed(f"`{method}` failed: {error.get('message')}", self.stderr, error)
        result = message.get("result")
        return result if isinstance(result, dict) else {}

    async def _exit_reason(self, method: str) -> str:
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                code = await self._process.wait()
                await self._stderr_reader
                how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
                return f"the agent ended ({how}) before it answered `{method}`"
        return f"the agent closed its output before it answered `{method}`"

    async def _send(self, message: Mapping[str, Any]) -> None:
        stdin = cast(asyncio.StreamWriter, self._process.stdin)
        stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        await stdin.drain()

    async def _read_stderr(self) -> None:
        stderr = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_TAIL]

    async def close(self) -> None:
        """Close stdin and give the agent one second to exit."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), 1)

    async def wait(self) -> None:
        """Wait for the process, whose tree has been killed."""
        await asyncio.shield(self._process.wait())
        self._stderr_reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._stderr_reader
        # A pipe whose end was not read yet would complain when the loop is gone.
        cast(Any, self._process)._transport.close()
        await asyncio.sleep(0)


@asynccontextmanager
async def open_probe(launch: LaunchSpec, limits: ProcessLimits | None = None) -> AsyncIterator[AcpProbe]:
    """Run the agent during the block, with the user and the limits of an instance if they are given.

    Raises `ProbeFailed` if it cannot be started.
    """
    try:
        tree = TaggedTree()
    except OSError as error:
        raise ProbeFailed(f"no process can be started: {error.strerror or error}") from error
    probe: AcpProbe | None = None
    try:
        probe = AcpProbe(await _start(launch, tree, limits or ProcessLimits()))
        yield probe
        await probe.close()
    finally:
        await tree.end()
        if probe is not None:
            await probe.wait()
        tree.reap()


async def _start(launch: LaunchSpec, tree: TaggedTree, limits: ProcessLimits) -> asyncio.subprocess.Process:
    argv, env = limits.limited(launch.argv, {**launch.env, **tree.environment}, tree.tag)
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=launch.cwd,
            env=env,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LINE_LIMIT,
            start_new_session=True,
            **limits.popen_arguments(),
        )
    except OSError as error:
        raise ProbeFailed(f"{launch.argv[0]} cannot be started: {error.strerror or error}") from error
    tree.adopt(process.pid)
    return process
