"""The client's side of a tool relay: reads the calls of the agent and answers them.

The server keeps calls while this client is away for a moment. A call that was received is answered once, also
if the stream breaks meanwhile.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError, NotFoundError, SandboxAgentError
from sandbox_agent.sdk.tools.mcp_server import McpServer
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors, segment
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder

log = logging.getLogger("sandbox_agent")

FIRST_PAUSE_S = 0.1
LAST_PAUSE_S = 5.0


class ToolRelayClient:
    """Serves the tools of one session over one relay."""

    def __init__(self, api: HttpApi, relay_id: str, server: McpServer) -> None:
        self._api = api
        self._path = f"/v1/tool-relays/{segment(relay_id)}"
        self._server = server
        self._last_call = 0
        self._calls: dict[Any, asyncio.Task[None]] = {}
        """Running calls by the id of their JSON-RPC request."""
        self._reader: asyncio.Task[None] | None = None
        self._connected = asyncio.Event()

    async def open(self, server_id: str) -> dict[str, Any]:
        """Open the relay and start to read; returns how the agent reaches it."""
        response = await self._api.request("PUT", self._path, query={"serverId": server_id})
        self._reader = asyncio.create_task(self._read_forever(), name=f"tools {self._path}")
        await self._connected.wait()
        return dict(json_codec.decode(response.content))

    async def close(self) -> None:
        """Close the relay; calls that wait become tool errors."""
        tasks = [one for one in (self._reader, *self._calls.values()) if one is not None]
        self._reader = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        try:
            await self._api.request("DELETE", self._path, once=True)
        except NotFoundError:
            return  # It ended with its instance.
        except SandboxAgentError as error:
            log.debug("the relay %s could not be closed: %s", self._path, error)

    async def _read_forever(self) -> None:
        attempt = 0
        try:
            while True:
                before = self._last_call
                try:
                    async for frame in self._frames():
                        self._take(frame)
                except APIStatusError as error:
                    if error.status_code < 500 and error.status_code not in (408, 429):
                        log.debug("the relay %s has ended: %s", self._path, error)
                        return
                except APIConnectionError as error:
                    log.debug("the relay %s dropped: %s", self._path, error)
                attempt = 0 if self._last_call != before else attempt
                await asyncio.sleep(backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S))
                attempt += 1
        finally:
            self._connected.set()

    async def _frames(self) -> AsyncIterator[Frame]:
        headers = {"accept": "text/event-stream", "last-event-id": str(self._last_call)}
        decoder = FrameDecoder()
        silence_s = self._api.stream_silence_s
        async with self._api.open("GET", self._path, headers=headers, read_timeout=silence_s) as response:
            self._connected.set()
            with network_errors(f"GET {self._path}"):
                async for chunk in response.aiter_bytes():
                    for frame in decoder.feed(chunk):
                        yield frame

    def _take(self, frame: Frame) -> None:
        if frame.event != "call" or frame.id is None or int(frame.id) <= self._last_call:
            return
        self._last_call = int(frame.id)
        message = json_codec.decode(frame.data)
        if not isinstance(message, dict):
            return
        if "id" in message:
            task = asyncio.create_task(self._answer(self._last_call, message), name="tool call")
            key = str(message["id"])
            self._calls[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        elif message.get("method") == "notifications/cancelled":
            running = self._calls.get(str((message.get("params") or {}).get("requestId")))
            if running is not None:
                running.cancel()

    async def _answer(self, call: int, message: dict[str, Any]) -> None:
        answer = await self._server.answer(message)
        try:
            await self._api.request("POST", f"{self._path}/answers/{call}", json=answer, retry=True)
        except NotFoundError:
            log.debug("call %s of %s no longer waits for its answer", call, self._path)
        except SandboxAgentError as error:
            log.warning("the answer of a tool could not be delivered: %s", error)

    def _forget(self, key: str, task: asyncio.Task[None]) -> None:
        if self._calls.get(key) is task:
            del self._calls[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a tool call failed: %s", error)
