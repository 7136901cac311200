"""The reader of an instance's event stream.

It reconnects without limit, from the last event it delivered, with growing pauses. Every event is
delivered once and in order; events the server no longer has are reported as a gap. The reader ends only
when the instance is gone or the server refuses it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from anyio import CancelScope

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    SandboxAgentError,
)
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.small_event import SmallEvent
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors, segment
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.shared_streams import SharedStreams, StreamGroup, gone
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder

log = logging.getLogger("sandbox_agent")

FIRST_PAUSE_S = 0.1
LAST_PAUSE_S = 10.0
# How many 404 answers of a gateway are tolerated while the sandbox behind it starts.
FOREIGN_404_LIMIT = 5


@dataclass(frozen=True, slots=True)
class Gap:
    """Events that the server can no longer replay, from `first` to `last` inclusive."""

    first: int
    last: int
    newest: int | None = None
    """The newest event the server had published, if it said so."""


class StreamSink(Protocol):
    """Receives what the reader reads, in order, never concurrently."""

    def stream_message(self, envelope: Envelope, event_id: int) -> None: ...
    def stream_gap(self, gap: Gap) -> None: ...
    def stream_dropped(self) -> None: ...
    def stream_ended(self, error: SandboxAgentError) -> None: ...


class StreamReader:
    """Reads the stream of one instance into a sink: `GET /v1/acp/{server_id}`, or a stream that it shares."""

    def __init__(
        self,
        api: HttpApi,
        server_id: str,
        sink: StreamSink,
        *,
        after: int | None,
        shared: SharedStreams | None = None,
    ) -> None:
        self.server_id = server_id
        self.last_event_id = after or 0
        self.connected = False
        self.last_heard = asyncio.get_running_loop().time()
        """When the last byte of the stream came."""
        self._api = api
        self._path = f"/v1/acp/{segment(server_id)}"
        self._sink = sink
        self._shared = shared
        self._group: StreamGroup | None = None
        self._task: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None
        self._moved = SmallEvent()
        self._foreign_404 = 0

    def start(self) -> None:
        """Start to read, unless it is reading."""
        if self._task is None and self._group is None:
            self._group = self._shared.join(self) if self._shared is not None else None
            if self._group is None:
                self.read_alone()

    def read_alone(self) -> None:
        """Read a stream of its own."""
        self._group = None
        self._scope = CancelScope()
        self._task = asyncio.create_task(self._read_forever(self._scope), name=f"stream {self._path}")

    async def stop(self) -> None:
        """Stop the reader and wait for its end."""
        group, self._group = self._group, None
        if group is not None:
            await group.remove(self)
        task, self._task = self._task, None
        if task is not None:
            if self._shared is not None:
                self._shared.left_alone()
            if task is not asyncio.current_task():
                if self._scope is not None:
                    self._scope.cancel()
                await asyncio.wait([task])

    async def moved(self, timeout_s: float) -> None:
        """Wait until another event was delivered, or for `timeout_s` seconds."""
        self._moved.clear()
        try:
            await asyncio.wait_for(self._moved.wait(), timeout_s)
        except TimeoutError:
            return

    async def history(self, after: int, upto: int) -> list[tuple[int, Envelope]]:
        """Read the events after `after` up to `upto` again, on a connection of its own."""
        found: list[tuple[int, Envelope]] = []
        async for frame in self._frames(after):
            if frame.event == "message" and frame.id is not None:
                event_id = int(frame.id)
                if event_id > upto:
                    break
                found.append((event_id, json_codec.decode(frame.data)))
                if event_id == upto:
                    break
        return found

    async def _read_forever(self, scope: CancelScope) -> None:
        # A scope: `httpx` closes its connections completely when this task is cancelled by one.
        with scope:
            await self._read_on()

    async def _read_on(self) -> None:
        attempt = 0
        while True:
            before = self.last_event_id
            try:
                async for frame in self._frames(self.last_event_id):
                    over = self.take(frame)
                    if over is not None:
                        self._sink.stream_ended(over)
                        return
                attempt = 0
            except APIStatusError as error:
                final = self._final_error(error)
                if final is not None:
                    self._sink.stream_ended(final)
                    return
            except APIConnectionError as error:
                log.debug("stream %s dropped: %s", self._path, error)
            finally:
                self.connected = False
            self.dropped()
            if self.last_event_id != before:
                attempt = 0
            await asyncio.sleep(backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S))
            attempt += 1

    async def _frames(self, after: int) -> AsyncIterator[Frame]:
        headers = {"accept": "text/event-stream", "cache-control": "no-cache"}
        if after:
            headers["last-event-id"] = str(after)
        decoder = FrameDecoder()
        silence_s = self._api.stream_silence_s
        clock = asyncio.get_running_loop().time
        async with self._api.open("GET", self._path, headers=headers, read_timeout=silence_s) as response:
            self.connected = True
            self.last_heard = clock()
            self._foreign_404 = 0
            with network_errors(f"GET {self._path}"):
                async for chunk in response.aiter_bytes():
                    self.last_heard = clock()
                    for frame in decoder.feed(chunk):
                        yield frame

    def take(self, frame: Frame) -> SandboxAgentError | None:
        """Deliver a frame of the stream; returns the error that ends it, if it does."""
        if frame.event == "gap":
            return self._take_gap(frame.data)
        if frame.event == "message":
            event_id = int(frame.id) if frame.id and frame.id.isdigit() else self.last_event_id + 1
            if event_id <= self.last_event_id:
                return None
            if event_id > self.last_event_id + 1:
                self._sink.stream_gap(Gap(self.last_event_id + 1, event_id - 1))
            self.last_event_id = event_id
            envelope = json_codec.decode(frame.data)
            if isinstance(envelope, dict):
                self._sink.stream_message(envelope, event_id)
            self._moved.set()
        return None

    def dropped(self) -> None:
        """The stream broke and will be opened again."""
        self.connected = False
        self._sink.stream_dropped()

    def ended(self, error: SandboxAgentError) -> None:
        """The stream that this reader shares will bring nothing more for it."""
        self.connected = False
        self._sink.stream_ended(error)

    def _take_gap(self, data: bytes) -> SandboxAgentError | None:
        facts = json_codec.decode(data)
        oldest, newest = int(facts["oldest"]), int(facts["newest"])
        if newest < self.last_event_id:
            return AgentExitedError("the server was restarted; this instance is gone", vanished=True)
        if oldest > self.last_event_id + 1:
            self._sink.stream_gap(Gap(self.last_event_id + 1, oldest - 1, newest))
            self.last_event_id = oldest - 1
        return None

    def _final_error(self, error: APIStatusError) -> SandboxAgentError | None:
        """The error that ends a refused stream, or None to try again."""
        if error.status_code == 404:
            self._foreign_404 += 1
            if error.error_type or self._foreign_404 > FOREIGN_404_LIMIT:
                final = gone()
                final.__cause__ = error
                return final
            return None
        if error.status_code in (429, 408) or error.status_code >= 500:
            return None
        return error
