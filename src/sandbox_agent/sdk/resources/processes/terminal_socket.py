"""The WebSocket of a terminal; after a broken connection it reconnects at the same position."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, SandboxAgentError
from sandbox_agent.sdk.resources.processes.output_follower import RECONNECT_LIMIT_S
from sandbox_agent.sdk.response_errors import status_error
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.stream_reader import FIRST_PAUSE_S, LAST_PAUSE_S

# A frame of output is one read of the server, far below this.
MAX_FRAME_BYTES = 16 * 1024 * 1024


class TerminalSocket:
    """Frames of one terminal in both directions. Input is never sent twice."""

    def __init__(self, api: HttpApi, path: str, since: int) -> None:
        self._api = api
        self._path = path
        self._sequence = since
        self._sequence_of_next_output = since
        self._closed = False
        self._socket: ClientConnection | None = None
        self.exit: dict[str, Any] | None = None
        """How the process has ended: `exitCode` and `signal`."""

    async def open(self) -> None:
        """Raises an `APIStatusError` if the server refuses, `APIConnectionError` if it cannot be reached."""
        address = self._api.base_url.replace("http", "ws", 1) + self._path + f"?since={self._sequence}"
        headers = self._api.headers
        try:
            socket = await connect(address, additional_headers=headers, max_size=MAX_FRAME_BYTES)
        except InvalidStatus as error:
            response = error.response
            try:
                problem = json_codec.decode(bytes(response.body or b""))
            except ValueError:
                problem = None
            raise status_error(response.status_code, problem, request=f"GET {self._path}") from error
        except (OSError, WebSocketException, TimeoutError) as error:
            raise APIConnectionError(f"cannot open the terminal: {error}") from error
        if self._closed:
            await socket.close()
        else:
            self._socket = socket

    async def send(self, frame: dict[str, object]) -> None:
        """Send a frame; raises `APIConnectionError` if the connection is broken."""
        if self._socket is None:
            raise APIConnectionError("the terminal is not connected")
        try:
            await self._socket.send(json_codec.encode_text(frame))
        except ConnectionClosed as error:
            raise APIConnectionError("the terminal's connection is broken") from error

    async def output(self) -> AsyncIterator[bytes]:
        """Output until the process has exited or `close` was called."""
        attempt, heard_at = 0, time.monotonic()
        while self._socket is not None:
            try:
                async for frame in self._socket:
                    attempt, heard_at = 0, time.monotonic()
                    if isinstance(frame, bytes):
                        self._sequence = self._sequence_of_next_output
                        yield frame
                    elif self._take(json_codec.decode(frame)):
                        return
            except ConnectionClosed:
                pass
            if self._socket is None:
                return
            if time.monotonic() - heard_at > RECONNECT_LIMIT_S:
                raise APIConnectionError("the terminal's connection is lost")
            await asyncio.sleep(backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S))
            attempt += 1
            await self._open_again()

    async def _open_again(self) -> None:
        try:
            await self.open()
        except APIConnectionError:
            pass  # The next round tries again.

    def _take(self, frame: dict[str, Any]) -> bool:
        """Note what a frame says; true at the end."""
        if frame["type"] == "sequence":
            self._sequence_of_next_output = frame["sequence"]
        elif frame["type"] == "exit":
            self.exit = frame
            return True
        elif frame["type"] == "error":
            raise SandboxAgentError(frame["message"])
        return False

    async def close(self) -> None:
        """Leave the terminal; its process goes on."""
        self._closed = True
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
