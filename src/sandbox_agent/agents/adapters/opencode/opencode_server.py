"""One `opencode serve` on a free loopback port with a random password.

`call` sends one HTTP request, `events` follows the event stream of a directory. When the program ends, both
raise the same typed error, and the next call starts a new program.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.native_process import Message, NativeProcess


class OpenCodeServer:
    """The program is started by the first call."""

    def __init__(
        self, program: str, *, on_invalid_line: Callable[[str], None], on_end: Callable[[Exception], None]
    ) -> None:
        self._program = program
        self._on_invalid_line, self._on_end = on_invalid_line, on_end
        self._process: NativeProcess | None = None
        self._http: httpx.AsyncClient | None = None
        self._starting = asyncio.Lock()

    async def call(self, verb: str, path: str, *, directory: str, body: Any = None) -> Any:
        """The JSON of the response; raises a `RequestError` for an error response, an exit or a time-out."""
        process, http = await self._running()
        try:
            answer = await http.request(verb, path, params={"directory": directory}, json=body)
        except httpx.TimeoutException:
            raise adapter_errors.program_silent("opencode", path, timeouts.answer_s()) from None
        except httpx.TransportError as error:
            raise await _connection_error(process, error) from error
        if answer.is_error:
            raise adapter_errors.request_refused("opencode", f"{verb} {path}", _error_body(answer))
        return answer.json() if answer.content else None

    async def events(self, directory: str) -> AsyncIterator[Message]:
        """The events of a directory from now on; the first one confirms that the stream is established."""
        process, http = await self._running()
        try:
            timeout = httpx.Timeout(timeouts.answer_s(), read=None)
            params = {"directory": directory}
            async with http.stream("GET", "/event", params=params, timeout=timeout) as answer:
                async for line in answer.aiter_lines():
                    if line.startswith("data:") and (event := self._event(line.removeprefix("data:"))):
                        yield event
        except httpx.TransportError as error:
            raise await _connection_error(process, error) from error
        raise await _connection_error(process, None)

    def _event(self, text: str) -> Message | None:
        try:
            event = json.loads(text)
        except ValueError:
            event = None
        if isinstance(event, dict):
            return event
        self._on_invalid_line(text.strip())
        return None

    async def stop(self) -> None:
        if self._process is not None:
            # No grace period: it ignores the end of its input.
            await self._process.stop(grace_s=0)
        if self._http is not None:
            await self._http.aclose()

    async def _running(self) -> tuple[NativeProcess, httpx.AsyncClient]:
        async with self._starting:
            if self._process is None or self._http is None or self._process.ended.done():
                self._process, self._http = await self._start()
            return self._process, self._http

    async def _start(self) -> tuple[NativeProcess, httpx.AsyncClient]:
        password, port = secrets.token_urlsafe(24), _free_port()
        listening = asyncio.Event()

        def on_line(line: str) -> None:
            if f":{port}" in line:
                listening.set()
            else:
                self._on_invalid_line(line)

        process = await NativeProcess.start(
            "opencode",
            [self._program, "serve", "--hostname", "127.0.0.1", "--port", str(port)],
            cwd=os.getcwd(),
            env=os.environ | {"OPENCODE_SERVER_PASSWORD": password, "OPENCODE_SERVER_USERNAME": "opencode"},
            on_message=lambda message: self._on_invalid_line(json.dumps(message)),
            on_invalid_line=on_line,
        )
        process.ended.add_done_callback(lambda _: self._on_end(process.exit_error()))
        ready = asyncio.create_task(listening.wait())
        waiting: list[asyncio.Future[Any]] = [ready, process.ended]
        await asyncio.wait(waiting, timeout=timeouts.answer_s(), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if process.ended.done():
            raise process.exit_error()
        if not listening.is_set():
            await process.stop(grace_s=0)
            raise adapter_errors.program_silent("opencode", "start of its server", timeouts.answer_s())
        http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            auth=("opencode", password),
            timeout=timeouts.answer_s(),
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
        )
        return process, http


async def _connection_error(process: NativeProcess, error: Exception | None) -> Exception:
    """Why a connection broke: the program exited, or it closed the connection."""
    await asyncio.wait([process.ended], timeout=2)
    if process.ended.done():
        return process.exit_error()
    return adapter_errors.turn_failed(
        "opencode", f"opencode closed the connection: {error or 'end of its events'}"
    )


def _error_body(answer: httpx.Response) -> Any:
    try:
        document = answer.json()
    except ValueError:
        return f"HTTP {answer.status_code}"
    data = document.get("data") if isinstance(document, dict) else None
    message = data.get("message") if isinstance(data, dict) else None
    return {"message": message or f"HTTP {answer.status_code}", "body": document}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
