"""The output of a process from any position to its exit, across broken connections."""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError
from sandbox_agent.sdk.resources.processes.process_models import ProcessOutput
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder
from sandbox_agent.sdk.transport.streams.stream_reader import FIRST_PAUSE_S, LAST_PAUSE_S

# How long a server may be away before a reader of output, or a terminal, gives up.
RECONNECT_LIMIT_S = 60.0


class OutputFollower:
    """Reads the output once."""

    def __init__(self, api: HttpApi, path: str, *, since: int = 0, stream: str | None = None) -> None:
        self._api = api
        self._path = path
        self._query: dict[str, str | bool | None] = {"follow": True, "stream": stream}
        self._last = since
        self._missed = 0
        self._has_exited = False

    async def follow(self) -> AsyncGenerator[ProcessOutput, None]:
        """Output until the exit. Close the generator when leaving early."""
        attempt = 0
        heard_at = time.monotonic()
        while True:
            before = self._last
            try:
                async with aclosing(self._read_once()) as outputs:
                    async for output in outputs:
                        yield output
                if self._has_exited:
                    return
            except APIStatusError as error:
                if error.status_code < 500:
                    raise
                if time.monotonic() - heard_at > RECONNECT_LIMIT_S:
                    raise
            except APIConnectionError:
                if time.monotonic() - heard_at > RECONNECT_LIMIT_S or not self._api.server_alive():
                    raise
            if self._last != before:
                attempt, heard_at = 0, time.monotonic()
            else:
                attempt += 1
            await asyncio.sleep(backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S))

    async def _read_once(self) -> AsyncGenerator[ProcessOutput, None]:
        headers = {"accept": "text/event-stream", "last-event-id": str(self._last)}
        decoder = FrameDecoder()
        async with self._api.open(
            "GET", self._path, query=self._query, headers=headers, read_timeout=self._api.stream_silence_s
        ) as response:
            with network_errors(f"GET {self._path}"):
                async for chunk in response.aiter_bytes():
                    for frame in decoder.feed(chunk):
                        if (output := self._take(frame)) is not None:
                            yield output

    def _take(self, frame: Frame) -> ProcessOutput | None:
        if frame.event == "exit":
            self._has_exited = True
        elif frame.event == "gap":
            self._missed += max(0, json_codec.decode(frame.data)["oldest"] - 1 - self._last)
        elif frame.event == "log":
            entry = json_codec.decode(frame.data)
            self._last = entry["sequence"]
            missed, self._missed = self._missed, 0
            data = b64decode(entry["data"])
            return ProcessOutput(entry["sequence"], entry["stream"], data, entry["timestampMs"], missed)
        return None
