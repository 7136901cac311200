"""One `codex app-server` for all threads: JSON-RPC lines without the `jsonrpc` key.

Requests have a time limit. When the program ends, all open requests get the same typed error, and the next
request starts a new program.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from sandbox_agent.agents.adapters.codex import login
from sandbox_agent.agents.adapters.codex.native_program import native_program
from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess
from sandbox_agent.jsonrpc_error_codes import INTERNAL_ERROR
from sandbox_agent.version import version


class CodexServer:
    """The program is started by the first request."""

    def __init__(
        self,
        program: str,
        *,
        on_notification: Callable[[str, Message], None],
        on_request: Callable[[str, Message], Awaitable[Message]],
        on_invalid_line: Callable[[str], None],
        on_end: Callable[[Exception], None],
    ) -> None:
        self._program = program
        self._on_notification, self._on_request = on_notification, on_request
        self._on_invalid_line, self._on_end = on_invalid_line, on_end
        self._process: NativeProcess | None = None
        self._starting = asyncio.Lock()
        self._request_ids = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request; raises a `RequestError` for an error, an exit or a time-out."""
        return await self._request(await self._running(), method, params)

    async def stop(self) -> None:
        if self._process is not None:
            await self._process.stop()

    async def _running(self) -> NativeProcess:
        async with self._starting:
            if self._process is None or self._process.ended.done():
                self._process = await self._start()
            return self._process

    async def _start(self) -> NativeProcess:
        program, environment = native_program(self._program, os.environ)
        key = login.api_key(os.environ)
        config = [*_config_arguments(os.environ.get("CODEX_CONFIG", "")), *login.arguments(key)]
        process = await NativeProcess.start(
            "codex",
            [program, "app-server", *config],
            cwd=os.getcwd(),
            env=environment,
            on_message=lambda message: self._handle(process, message),
            on_invalid_line=self._on_invalid_line,
        )
        process.ended.add_done_callback(lambda _: self._fail_pending(process))
        info = {"name": "sandbox-agent", "title": "Sandbox Agent", "version": version()}
        # Collaboration modes, and with them questions, require this capability.
        params = {"clientInfo": info, "capabilities": {"experimentalApi": True}}
        try:
            await self._request(process, "initialize", params)
            process.send({"method": "initialized"})
            await login.log_in(lambda method, values: self._request(process, method, values), key)
        except BaseException:
            await process.stop(grace_s=0)
            raise
        return process

    async def _request(self, process: NativeProcess, method: str, params: Mapping[str, Any]) -> Any:
        request_id, limit_s = next(self._request_ids), timeouts.answer_s()
        future = self._pending[request_id] = asyncio.get_running_loop().create_future()
        process.send({"id": request_id, "method": method, "params": params})
        if process.ended.done():
            self._fail_pending(process)
        try:
            async with asyncio.timeout(limit_s):
                answer = await future
        except TimeoutError:
            raise adapter_errors.program_silent("codex", method, limit_s) from None
        finally:
            self._pending.pop(request_id, None)
        if "error" in answer:
            raise adapter_errors.request_refused("codex", method, answer["error"])
        return answer.get("result")

    def _handle(self, process: NativeProcess, message: Message) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            future = self._pending.get(message.get("id", -1))
            if future is not None and not future.done():
                future.set_result(message)
        elif "id" in message:
            task = asyncio.create_task(self._answer(process, message["id"], method, params))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        else:
            self._on_notification(method, params)

    async def _answer(self, process: NativeProcess, request_id: Any, method: str, params: Message) -> None:
        try:
            process.send({"id": request_id, "result": await self._on_request(method, params)})
        except Exception as error:
            process.send({"id": request_id, "error": {"code": INTERNAL_ERROR, "message": str(error)}})

    def _fail_pending(self, process: NativeProcess) -> None:
        error = process.exit_error()
        for future in self._pending.values():
            if not future.done():
                future.set_exception(error)
        self._on_end(error)


def _config_arguments(document: str) -> list[str]:
    """CODEX_CONFIG, a JSON object of config values, as `-c key=value`."""
    if not document:
        return []
    return [word for key, value in _flatten(json.loads(document)) for word in ("-c", f"{key}={value}")]


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, json.dumps(value)
